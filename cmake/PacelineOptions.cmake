set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(PACELINE_TESTS "Build the tests" ON)
option(PACELINE_WERROR "Treat warnings as errors" OFF)
set(PACELINE_MPI AUTO CACHE STRING "Several ranks through Open MPI: AUTO, ON or OFF")
set(PACELINE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
set(PACELINE_KERNEL_ARCH native CACHE STRING
  "Instruction set of the CPU kernels, as -march= takes it; x86-64-v3 for a portable program")
set_property(CACHE PACELINE_MPI PROPERTY STRINGS AUTO ON OFF)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(paceline_options INTERFACE)
target_include_directories(paceline_options INTERFACE ${PROJECT_SOURCE_DIR})
# No fused multiply-add where the source does not ask for one: results do not depend on the build.
target_compile_options(paceline_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -ffp-contract=off)
if(PACELINE_WERROR)
  target_compile_options(paceline_options INTERFACE -Werror)
endif()
if(PACELINE_SANITIZE)
  target_compile_options(paceline_options INTERFACE
    -fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(paceline_options INTERFACE -fsanitize=${PACELINE_SANITIZE})
endif()
