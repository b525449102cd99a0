#include "runtime/comm/ring.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "core/error.hpp"

namespace paceline::runtime {
namespace {

/// Ranks in one process: messages wait in boxes until their receiver polls.
class Post {
 public:
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> boxes;
};

class PostedCommunicator final : public Communicator {
 public:
  PostedCommunicator(Post& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string library() const override { return "post"; }
  void start_exchange(int to, std::span<const std::byte> sent, int from,
                      std::span<std::byte> received) override {
    post_.boxes[{rank_, to}].emplace_back(sent.begin(), sent.end());
    from_ = from;
    received_ = received;
  }
  [[nodiscard]] bool exchange_done() override {
    auto& box = post_.boxes[{from_, rank_}];
    if (box.empty()) return false;
    if (box.front().size() != received_.size()) throw core::InvariantError("sizes differ");
    std::copy(box.front().begin(), box.front().end(), received_.begin());
    box.pop_front();
    return true;
  }
  void send(int /*to*/, std::span<const std::byte> /*message*/) override {}
  void receive(int /*from*/, std::span<std::byte> /*message*/) override {}
  void quiet_barrier() override {}
  void barrier() override {}
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override { return {text}; }
  [[nodiscard]] std::string broadcast(const std::string& text) override { return text; }

 private:
  Post& post_;
  int rank_, size_;
  int from_ = 0;
  std::span<std::byte> received_;
};

/// Rank r starts with buffer[i] = (r + 1)·(i + 1); polls in a fixed, uneven order.
std::vector<std::vector<float>> all_reduced(int ranks, int elements) {
  Post post;
  std::vector<int> members;
  std::vector<std::vector<float>> buffers;
  for (int rank = 0; rank < ranks; ++rank) {
    members.push_back(rank);
    buffers.emplace_back();
    for (int i = 0; i < elements; ++i) {
      buffers.back().push_back(static_cast<float>((rank + 1) * (i + 1)));
    }
  }
  const auto slice = static_cast<std::size_t>(models::ring_slice_elements(ranks, elements));
  std::vector<std::vector<float>> received(members.size(), std::vector<float>(slice));
  std::deque<PostedCommunicator> communicators;
  std::deque<RingAllReduce> rings;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    communicators.emplace_back(post, static_cast<int>(rank), ranks);
    rings.emplace_back(communicators.back(), members, std::span(buffers[rank]),
                       std::span(received[rank]));
  }
  for (int round = 0; round < 1000; ++round) {
    for (std::size_t rank = 0; rank < rings.size(); ++rank) {
      if (round % (static_cast<int>(rank) + 1) == 0) rings[rank].poll();
    }
  }
  core::Bytes sent;
  core::Bytes arrived;
  for (const RingAllReduce& ring : rings) {
    EXPECT_TRUE(ring.done());
    sent += ring.sent();
    arrived += ring.received();
  }
  EXPECT_EQ(sent, arrived);
  // Each of n ranks sends 2(n − 1) slices, all slices together 2(n − 1) buffers.
  EXPECT_EQ(sent.value(), 2 * (ranks - 1) * elements * 4);
  return buffers;
}

TEST(RingAllReduce, every_member_ends_with_the_sum_for_any_size_and_polling_order) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (const int elements : {1, 2, 3, 7, 64, 1001}) {
      const auto buffers = all_reduced(ranks, elements);
      const int sum_of_factors = ranks * (ranks + 1) / 2;
      for (const auto& buffer : buffers) {
        for (int i = 0; i < elements; ++i) {
          ASSERT_EQ(buffer[static_cast<std::size_t>(i)],
                    static_cast<float>(sum_of_factors * (i + 1)))
              << ranks << " ranks, " << elements << " elements, element " << i;
        }
      }
    }
  }
}

TEST(RingAllReduce, a_rank_outside_the_communicator_is_refused) {
  Post post;
  PostedCommunicator communicator(post, 5, 6);
  std::vector<float> buffer(4);
  std::vector<float> received(4);
  EXPECT_THROW(RingAllReduce(communicator, {0, 1}, buffer, received), core::InvariantError);
}

}  // namespace
}  // namespace paceline::runtime
