package usage

// Former is what replaces a command ("masters init" where it stood below another), a flag,
// a format of -o or an implementation that is gone.
var Former = map[string]string{
	"--check":                   "the last line of lockbench advise: a run with --slo",
	"--drop-after":              "nothing is dropped; --slo 'acquire.response.p99<100ms' judges how long operations wait",
	"--drift":                   "the engine's default, 0.01",
	"--fault copy":              "--fault flush, after which a master has forgotten its locks, too",
	"--fault cut":               "--fault kill, which resets connections, or stop, which leaves them open",
	"--fault rollback":          "--fault flush, after which a master has forgotten its locks, too",
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
	"compare OLD.json NEW.json": "lockbench report FILE -o bench of both, and benchstat",
	"completion":                "--help, which lists the flags of a command",
	"doctor":                    "muxlock doctor",
	"masters init":              "muxlock masters init",
	"masters repair":            "muxlock masters repair",
	"masters replace":           "muxlock masters replace",
	"masters status":            "muxlock masters status",
	"schema":                    "the README of cmd/lockbench, which names the fields of -o json",
	"validate":                  "make validate",
	"version":                   "--version",
}

// Formerly is the usage error for something of that name in Former, nil for anything else.
func Formerly(what string) error {
	if instead := Former[what]; instead != "" {
		return Errorf("%s is gone; instead: %s", what, instead)
	}
	return nil
}
