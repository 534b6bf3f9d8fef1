window.BENCHMARK_DATA = {
  "lastUpdate": 1796025600000,
  "repoUrl": "https://example.org/demo",
  "entries": {
    "Python Benchmark": [
      {
        "commit": {
          "author": {"email": "a@example.org", "name": "A", "username": "a"},
          "committer": {"email": "a@example.org", "name": "A", "username": "a"},
          "distinct": true,
          "id": "440be9702bcf17a9e5388dd0eb064d97a25ef575",
          "message": "one",
          "timestamp": "2026-11-28T07:58:14Z",
          "tree_id": "c7a6a3c3f3f6d5a5c0b8d2e4d0cfb5f0d87b2f1c",
          "url": "https://example.org/demo/commit/440be9702bcf17a9e5388dd0eb064d97a25ef575"
        },
        "date": 1795852800123,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_add.py::test_add[128-float32]",
            "value": 940028.626989642,
            "unit": "iter/sec",
            "range": "stddev: 5.500102271986237e-7",
            "extra": "mean: 1.063797390088439 usec\nrounds: 5"
          },
          {
            "name": "test_add.py::test_sum",
            "value": 5095099.616876039,
            "unit": "iter/sec",
            "range": "stddev: 1.1092451272682756e-7",
            "extra": "mean: 196.26701638723412 nsec\nrounds: 5"
          }
        ]
      },
      {
        "commit": {"id": "5c9df4dd1ae429bb5ac1f89e9854542b925aa899", "message": "two"},
        "date": 1795939200000,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_add.py::test_sum",
            "value": 5000000,
            "unit": "iter/sec",
            "range": "stddev: 0",
            "extra": "mean: 200 nsec\nrounds: 7"
          }
        ]
      }
    ],
    "Rust Benchmark": [
      {
        "commit": {"id": "440be9702bcf17a9e5388dd0eb064d97a25ef575", "message": "one"},
        "date": 1795852900000,
        "tool": "cargo",
        "benches": [
          {"name": "bench_fib_10", "value": 254, "range": "+/- 35", "unit": "ns/iter"},
          {"name": "bench_fib_20", "value": 34001, "range": 2802, "unit": "ns/iter"}
        ]
      }
    ],
    "Go Benchmark": [
      {
        "commit": {"id": "440be9702bcf17a9e5388dd0eb064d97a25ef575", "message": "one"},
        "date": 1795853000000,
        "tool": "go",
        "benches": [
          {"name": "BenchmarkFib10", "value": 409.3, "unit": "ns/op", "extra": "2915931 times\n2 procs"},
          {"name": "BenchmarkFib10 - allocs/op", "value": 3, "unit": "allocs/op", "extra": "2915931 times\n2 procs"}
        ]
      }
    ],
    "C++ Benchmark": [
      {
        "commit": {"id": "440be9702bcf17a9e5388dd0eb064d97a25ef575", "message": "one"},
        "date": 1795853100000,
        "tool": "googlecpp",
        "benches": [
          {"name": "add/8", "value": 0.21, "unit": "us/iter", "extra": "iterations: 69893\ncpu: 0.2 us\nthreads: 1"}
        ]
      }
    ],
    "Custom": [
      {
        "commit": {"id": "440be9702bcf17a9e5388dd0eb064d97a25ef575", "message": "one"},
        "date": 1795853200000,
        "tool": "customSmallerIsBetter",
        "benches": [
          {"name": "latency", "value": 1.5, "unit": "ms", "range": "± 0.2"},
          {"name": "wait", "value": 2, "unit": "µs"},
          {"name": "memory", "value": 100, "unit": "Megabytes"},
          {"name": "throughput", "value": 12, "unit": "ops/sec"}
        ]
      }
    ]
  }
}
