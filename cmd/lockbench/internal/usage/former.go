package usage

const (
	aRun     = "lockbench run with it and -o json, then lockbench advise of that result"
	document = "-o json, where it is still"
)

// Former has the successors of removed commands ("masters init" for a subcommand), flags (of one
// command or of all), formats of -o, implementations and figures of --slo.
var Former = map[string]string{
	"--check":                   "the last line of lockbench advise: a run with --slo",
	"--drop-after":              "nothing is dropped; --slo 'response.p99<100ms' judges how long operations wait",
	"--drift":                   "the engine's default, 0.01",
	"--fault copy":              "--fault replica",
	"--fault swapdb":            "--fault flush, after which a master has forgotten its locks, too",
	"--impl muxlock-scripts":    "--impl muxlock, which uses SET and scripts where the servers have no native commands",
	"--impl raw-native":         "--impl raw",
	"--impl setnx":              "--impl redislock, or --impl redsync-goredis --local 1",
	"--master-availability":     "nothing: lockbench advise sizes the masters that there are",
	"--pause-collector":         "lockbench advise --pause",
	"--pause-fork":              "lockbench advise --pause",
	"--pause-migration":         "lockbench advise --pause",
	"--pause-page-cache":        "lockbench advise --pause",
	"--prefix":                  "the names' own, lockbench:, which the ACL of a user must allow",
	"--profile":                 "--slo, with the load's own flags such as --rate, --keys and --hold",
	"--ramp":                    "--warmup",
	"--regression":              "lockbench report FILE -o bench of both results, and benchstat",
	"--steady":                  "--duration, and --rounds to see whether runs agree",
	"--zone-availability":       "nothing: lockbench advise sizes the masters that there are",
	"--zones":                   "nothing: lockbench advise sizes the masters that there are",
	"-o csv":                    "-o json, of which jq makes tables",
	"-o ndjson":                 "-o json, whose series has every second",
	"advise --embedded":         "--local, or " + aRun,
	"advise --fault":            aRun,
	"advise --fencing":          aRun,
	"advise --html":             "--explain",
	"advise --out":              "standard output",
	"advise --rate":             aRun,
	"advise --server":           aRun,
	"compare OLD.json NEW.json": "lockbench report FILE -o bench of both, and benchstat",
	"completion":                "--help, which lists the flags of a command",
	"doctor":                    "muxlock doctor",
	"figure acquired":           "acquired_per_s",
	"figure cpu_share":          document,
	"figure dropped":            "late_rate",
	"figure dropped_rate":       "late_rate",
	"figure failed":             "failure_rate",
	"figure fence_second_trips": "fence_second_trip_rate",
	"figure fenced":             document,
	"figure finished":           document,
	"figure gc_p99_ns":          document,
	"figure late":               "late_rate",
	"figure late_quorum":        "lost_validity_rate",
	"figure late_quorum_rate":   "lost_validity_rate",
	"figure mean_wait_ns":       "max_wait_ns",
	"figure offered":            "offered_per_s",
	"figure refused":            "refused_rate",
	"figure sched_p99_ns":       document,
	"figure stall_p99_ns":       document,
	"figure started":            document,
	"figure timeouts":           "timeout_rate",
	"figure tool_cpu_ns_per_op": "cpu_ns_per_op beside --impl noop, which is the tool's own",
	"figure tool_cpu_share":     "cpu_ns_per_op beside --impl noop, which is the tool's own",
	"figure unfinished":         "failure_rate",
	"masters init":              "muxlock masters init",
	"masters repair":            "muxlock masters repair",
	"masters replace":           "muxlock masters replace",
	"masters status":            "muxlock masters status",
	"schema":                    "the README of cmd/lockbench, which names the fields of -o json",
	"validate":                  "make validate",
	"version":                   "--version",
}

// Formerly returns the usage error for a name in Former, and nil for any other name.
func Formerly(what string) error {
	if instead := Former[what]; instead != "" {
		return Errorf("%s is gone; instead: %s", what, instead)
	}
	return nil
}
