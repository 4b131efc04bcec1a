// The dumbbell of run.py in htsim: bulk flows with its TCP (NewReno without SACK, an ACK for each
// segment, no receive window) over tail drop. Topology as in dumbbell.tcl: each host has a link of
// its own to its router, and two routers share the bottleneck; a link is a queue and a pipe.
//
//   htsim FLOWS RATE ACCESS BUFFER SECONDS SPREAD
//
// RATE and ACCESS in bit/s, BUFFER in packets of 1500 bytes; all flows start within SPREAD seconds.
// Prints one JSON line: packets that left the bottleneck, processor and wall seconds, peak MiB.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sys/resource.h>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

constexpr int kPacket = 1500;  // bytes on the wire; htsim counts no headers of their own

/// A queue that knows how many packets it has sent.
class Bottleneck : public Queue {
 public:
  Bottleneck(linkspeed_bps rate, mem_b limit, EventList& events)
      : Queue(rate, limit, events, nullptr) {}
  uint64_t sent = 0;

 protected:
  void completeService() override {
    ++sent;
    Queue::completeService();
  }
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    std::fprintf(stderr, "usage: htsim FLOWS RATE ACCESS BUFFER SECONDS SPREAD\n");
    return 2;
  }
  const int flows = std::atoi(words[1]);
  const auto rate = static_cast<linkspeed_bps>(std::atof(words[2]));
  const auto access = static_cast<linkspeed_bps>(std::atof(words[3]));
  const mem_b buffer = static_cast<mem_b>(std::atof(words[4])) * kPacket;
  const double seconds = std::atof(words[5]);
  const double spread = std::atof(words[6]);

  EventList events;
  events.setEndtime(timeFromSec(seconds));
  Packet::set_packet_size(kPacket);
  TcpRtxTimerScanner timers(timeFromMs(10), events);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> start(0, spread);

  // Where slow start ends: at a flow's share of the path of 50 ms. With the first loss, as in the
  // others, the link would stand half empty for long: without SACK a round trip mends one loss.
  const auto share = static_cast<uint32_t>(rate / 8.0 * 0.05 / flows);

  Bottleneck data(rate, buffer, events);
  Queue acks(rate, buffer, events, nullptr);
  Pipe across(timeFromMs(13), events);
  Pipe back(timeFromMs(13), events);
  // A host's link, with more room than a window ever fills.
  auto link = [&](Route* route) {
    route->push_back(new Queue(access, mem_b{1} << 40, events, nullptr));
    route->push_back(new Pipe(timeFromMs(6), events));
  };
  for (int flow = 0; flow < flows; ++flow) {
    auto* source = new TcpSrc(nullptr, nullptr, events);
    auto* sink = new TcpSink();
    source->set_ssthresh(share);
    auto* out = new Route();
    link(out);
    out->push_back(&data);
    out->push_back(&across);
    link(out);
    out->push_back(sink);
    auto* in = new Route();
    link(in);
    in->push_back(&acks);
    in->push_back(&back);
    link(in);
    in->push_back(source);
    source->connect(*out, *in, *sink, timeFromSec(start(random)));
    timers.registerTcp(*source);
  }

  const double began = cpu_seconds();
  const auto from = std::chrono::steady_clock::now();
  while (events.doNextEvent()) {
  }
  const double cpu = cpu_seconds() - began;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("\n{\"packets\": %llu, \"cpu_s\": %.6f, \"wall_s\": %.6f, \"peak_mib\": %.1f}\n",
              static_cast<unsigned long long>(data.sent), cpu, wall.count(),
              usage.ru_maxrss / 1024.0);
}
