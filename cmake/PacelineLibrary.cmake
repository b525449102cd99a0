# paceline_library(<folder> SOURCES <file>... [DEPENDS <target>...])
# One library a folder, with the project's warnings and language.
function(paceline_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(paceline_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(paceline_${folder}
    PUBLIC paceline_options ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()
