// The cost of DPDK's hierarchical scheduler (rte_sched), for queues.py: one packet in and one out.
//
//   rte_sched FLOWS BURST PACKETS
//
// Each flow is a pipe with a best-effort queue of its own, in which one packet waits. The program
// takes BURST packets and puts them back, until PACKETS have passed; the scheduler is asked again
// where it gives fewer. Rates are far above what passes, so that no token bucket holds a packet.
// Packets are classified once, before the clock starts: the scheduler itself hashes nothing.
// Prints one JSON line: packets and processor seconds.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_sched.h>

enum { kLength = 64, kMostBurst = 64 };
static const uint64_t kRate = 100ULL * 1000 * 1000 * 1000;  // bytes per second
static const uint64_t kBucket = 1ULL << 30;

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(int failed, const char* what) {
  if (failed) {
    fprintf(stderr, "%s: %s\n", what, rte_strerror(rte_errno));
    exit(1);
  }
}

static struct rte_sched_port* make_port(uint32_t pipes) {
  struct rte_sched_pipe_params pipe = {
      .tb_rate = kRate, .tb_size = kBucket, .tc_period = 10,
      .tc_ov_weight = 1, .wrr_weights = {1, 1, 1, 1}};
  struct rte_sched_subport_profile_params profile = {
      .tb_rate = kRate, .tb_size = kBucket, .tc_period = 10};
  struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = pipes,
                                             .pipe_profiles = &pipe,
                                             .n_pipe_profiles = 1,
                                             .n_max_pipe_profiles = 1};
  for (int class = 0; class < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; class++)
    profile.tc_rate[class] = kRate;
  // Other classes have no queues.
  pipe.tc_rate[RTE_SCHED_TRAFFIC_CLASS_BE] = kRate;
  subport.qsize[RTE_SCHED_TRAFFIC_CLASS_BE] = 64;
  struct rte_sched_port_params params = {.name = "port",
                                         .socket = 0,
                                         .rate = kRate,
                                         .mtu = 1522,
                                         .frame_overhead = RTE_SCHED_FRAME_OVERHEAD_DEFAULT,
                                         .n_subports_per_port = 1,
                                         .subport_profiles = &profile,
                                         .n_subport_profiles = 1,
                                         .n_max_subport_profiles = 1,
                                         .n_pipes_per_subport = pipes};
  struct rte_sched_port* port = rte_sched_port_config(&params);
  check(port == NULL, "rte_sched_port_config");
  check(rte_sched_subport_config(port, 0, &subport, 0) != 0, "rte_sched_subport_config");
  for (uint32_t number = 0; number < pipes; number++)
    check(rte_sched_pipe_config(port, 0, number, 0) != 0, "rte_sched_pipe_config");
  return port;
}

int main(int argc, char** argv) {
  char* eal[] = {argv[0], "--no-huge", "--no-pci",       "--no-shconf",
                 "-m",    "512",       "--no-telemetry", "--log-level=error"};
  if (argc != 4) {
    fprintf(stderr, "rte_sched FLOWS BURST PACKETS\n");
    return 2;
  }
  const uint32_t flows = (uint32_t)atoi(argv[1]), burst = (uint32_t)atoi(argv[2]);
  const uint64_t wanted = strtoull(argv[3], NULL, 10);
  if (flows == 0 || burst == 0 || burst > kMostBurst || burst > flows) {
    fprintf(stderr, "BURST is 1 to %d and at most FLOWS\n", kMostBurst);
    return 2;
  }
  check(rte_eal_init((int)(sizeof eal / sizeof *eal), eal) < 0, "rte_eal_init");
  uint32_t pipes = 1;
  while (pipes < flows) pipes *= 2;
  struct rte_sched_port* port = make_port(pipes);
  struct rte_mempool* pool = rte_pktmbuf_pool_create("packets", flows, 0, 0, 256, SOCKET_ID_ANY);
  check(pool == NULL, "rte_pktmbuf_pool_create");

  struct rte_mbuf* packets[kMostBurst];
  for (uint32_t flow = 0; flow < flows; flow++) {
    struct rte_mbuf* packet = rte_pktmbuf_alloc(pool);
    check(packet == NULL, "rte_pktmbuf_alloc");
    packet->pkt_len = packet->data_len = kLength;
    rte_sched_port_pkt_write(port, packet, 0, flow, RTE_SCHED_TRAFFIC_CLASS_BE, 0,
                             RTE_COLOR_GREEN);
    check(rte_sched_port_enqueue(port, &packet, 1) != 1, "rte_sched_port_enqueue");
  }
  uint64_t passed = 0, idle = 0;
  const double begun = cpu_seconds();
  while (passed < wanted) {
    const int count = rte_sched_port_dequeue(port, packets, burst);
    if (count == 0 && ++idle > 100 * 1000 * 1000) {
      fprintf(stderr, "no packet comes out\n");
      return 1;
    }
    if (count > 0) passed += (uint64_t)rte_sched_port_enqueue(port, packets, (uint32_t)count);
  }
  const double taken = cpu_seconds() - begun;
  printf("{\"packets\": %" PRIu64 ", \"cpu_s\": %.9f, \"idle\": %" PRIu64 "}\n", passed, taken, idle);
  fflush(stdout);
  _Exit(0);
}
