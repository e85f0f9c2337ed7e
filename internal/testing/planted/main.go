package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const simulator = "internal/testing/sim"

var (
	part      = flag.String("part", "1/1", "which faults: 3/10 is the third tenth")
	only      = flag.String("only", "", "those whose file or description has this text")
	schedules = flag.Int("schedules", 0, "that the simulator plays for a fault first, at most; 0: tests alone")
	atOnce    = flag.Int("at-once", 2, "faults")
	mutants   = flag.Bool("mutants", false, "mutants of the pure packages, not the listed faults")
	draws     = flag.Int("draw", 0, "so many mutants of all packages, drawn, not the listed faults")
)

func main() {
	flag.Parse()
	all := run
	switch {
	case *draws > 0:
		all = func() (int, error) { return drawn(*draws) }
	case *mutants:
		all = score
	}
	survived, err := all()
	if err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
	}
	if survived > 0 || err != nil {
		os.Exit(1)
	}
}

// chosen returns the faults of a part whose file or description has the text. Each part has faults of all floors.
func chosen(part, text string) (some []fault, err error) {
	var i, of int
	if n, _ := fmt.Sscanf(part, "%d/%d", &i, &of); n != 2 || i < 1 || i > of {
		return nil, fmt.Errorf("part %q is not as 3/10", part)
	}
	for n, f := range faults() {
		if n%of == i-1 && strings.Contains(f.file+"\n"+f.what, text) {
			some = append(some, f)
		}
	}
	return some, nil
}

// run plants the faults of the part, and prints a line for each. It returns how many survived. An error says that
// something is wrong with the list or the tests.
func run() (survived int, err error) {
	some, err := chosen(*part, *only)
	if err != nil {
		return 0, err
	}
	r, err := newRunner()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.dir)
	if r.simulated, err = simulated(r.top); err != nil {
		return 0, err
	}
	r.flags = []string{"-gcflags=muxlock/...=-N -l"} // half the CPU of a build; the named tests are short
	fmt.Printf("%d faults of %d (part %s), %d schedules at most\n", len(some), len(faults()), *part, *schedules)
	var mu sync.Mutex // guards the following, and the output
	done := 0
	each(some, func(f fault) {
		began := time.Now()
		by, wrong := r.plant(f)
		mu.Lock()
		defer mu.Unlock()
		done++
		switch {
		case wrong != nil:
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", f.where(), f.what, wrong))
			by = "ERROR"
		case by == "":
			survived++
			by = "SURVIVED"
		}
		fmt.Printf("%3d/%d %5.1fs  %-30s %-75s %s\n", done, len(some), time.Since(began).Seconds(), f.where(), f.what, by)
	})
	fmt.Printf("%d planted, %d survived\n", len(some), survived)
	return survived, err
}

// each calls do with all items, several at once.
func each[T any](items []T, do func(T)) {
	var running errgroup.Group
	running.SetLimit(*atOnce)
	for _, item := range items {
		running.Go(func() error {
			do(item)
			return nil
		})
	}
	_ = running.Wait()
}

// A runner builds and runs tests.
type runner struct {
	top, dir  string   // of the repository; for files of this run
	sound     string   // an overlay without a change
	built     sync.Map // of test programs: func() error that builds it, once
	simulated []string // the packages that the simulator drives
	flags     []string // of go test
}

func newRunner() (*runner, error) {
	r := &runner{}
	top, err := command("", "go", "list", "-m", "-f", "{{.Dir}}", "muxlock")
	if err != nil {
		return nil, err
	}
	r.top = strings.TrimSpace(top)
	if r.dir, err = os.MkdirTemp("", "planted"); err == nil {
		r.sound, err = r.overlay(nil)
	}
	return r, err
}

// simulated returns the packages that the simulator drives.
func simulated(top string) ([]string, error) {
	deps, err := command(top, "go", "list", "-deps", "-test", "./"+simulator)
	return strings.Fields(deps), err
}

// played matches the simulator's line of how many schedules it played.
var played = regexp.MustCompile(`(\d+) of \d+ schedules`)

// plant returns the name of what sees the fault; "": nothing sees it.
func (r *runner) plant(f fault) (by string, err error) {
	files, err := f.planted(r.top)
	if err != nil {
		return "", err
	}
	dir, err := r.overlay(files)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if *schedules > 0 && filepath.Ext(f.file) == ".go" && slices.Contains(r.simulated, "muxlock/"+f.where()) {
		red, text, err := r.test(simulator, "TestSchedules", dir, "-schedules", fmt.Sprint(*schedules), "-seed", "1", "-shrink=false")
		if err != nil {
			return "", err
		}
		switch n := played.FindStringSubmatch(text); {
		case red && n != nil:
			return "simulator, schedule " + n[1], nil
		case red && !strings.Contains(text, "panic: test timed out"): // the machine may be busy
			return "simulator, which panicked", nil
		}
	}
	for pkg, pattern := range f.named() {
		red, text, err := r.test(pkg, pattern, dir)
		if err != nil {
			return "", err
		}
		if red {
			if red, text, err := r.test(pkg, pattern, r.sound); err != nil || red {
				return "", errors.Join(err, fmt.Errorf("%s fails without the fault, too\n%s", pkg, text))
			}
			return pkg + " " + firstRed(text), nil
		}
	}
	return "", nil
}

// list is the file that go build -overlay reads, beside the changed files.
const list = "overlay.json"

// overlay writes the changed files and their list into a new directory.
func (r *runner) overlay(files map[string]string) (dir string, err error) {
	if dir, err = os.MkdirTemp(r.dir, "fault"); err != nil {
		return "", err
	}
	replace := make(map[string]string)
	for name, text := range files {
		with := filepath.Join(dir, filepath.Base(name))
		replace[filepath.Join(r.top, name)] = with
		err = errors.Join(err, os.WriteFile(with, []byte(text), 0o600))
	}
	text, wrong := json.Marshal(map[string]any{"Replace": replace})
	return dir, errors.Join(err, wrong, os.WriteFile(filepath.Join(dir, list), text, 0o600))
}

var errNoProgram = errors.New("does not compile")

// test runs tests of a package with the overlay in a directory, and reports whether they are red. An error says that they could
// not run.
func (r *runner) test(pkg, pattern, dir string, args ...string) (red bool, text string, err error) {
	return r.testIn(nil, pkg, pattern, dir, args...)
}

// testIn is test with an environment.
func (r *runner) testIn(env []string, pkg, pattern, dir string, args ...string) (red bool, text string, err error) {
	binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	build, _ := r.built.LoadOrStore(binary, sync.OnceValue(func() error {
		args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", filepath.Join(dir, list), "-o", binary}, r.flags, []string{"./" + pkg})
		if text, err := command(r.top, "go", args...); err != nil {
			return fmt.Errorf("%w: %w\n%s", errNoProgram, err, text)
		}
		return nil
	}))
	if err := build.(func() error)(); err != nil {
		return false, "", err
	}
	args = append([]string{"-test.run", "^(" + pattern + ")$", "-test.v", "-test.timeout", "1m"}, args...)
	text, err = commandIn(env, filepath.Join(r.top, pkg), binary, args...)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return false, "", err
	}
	if !strings.Contains(text, "=== RUN") {
		return false, "", fmt.Errorf("%s has no test %s\n%s", pkg, pattern, text)
	}
	return err != nil, text, nil
}

var (
	failed  = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	running = regexp.MustCompile(`running tests:\s+(\w+)`)
	begun   = regexp.MustCompile(`(?m)^=== (?:RUN|CONT|NAME) +(\w+)`)
)

// firstRed returns the first test that failed, or the one that ran when a panic ended the tests.
func firstRed(text string) string {
	if m := failed.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if m := running.FindStringSubmatch(text); m != nil {
		return m[1] + ", which hung"
	}
	all := begun.FindAllStringSubmatch(text, -1)
	return all[len(all)-1][1] + ", which panicked"
}

// command runs a program in a directory.
func command(dir, name string, args ...string) (string, error) {
	return commandIn(nil, dir, name, args...)
}

// commandIn is command with an environment.
func commandIn(env []string, dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "MUXLOCK_REQUIRE_REDIS=1", "MUXLOCK_SEED=1"), env...) // what is seen does not change by chance
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}
