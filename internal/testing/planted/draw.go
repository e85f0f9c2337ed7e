package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A tree is the module's packages, by their paths below it.
type tree struct {
	files map[string][]string // of production packages
	users map[string][]string // packages with tests that import the package, or whose tests do
	tests map[string]bool     // packages with tests
}

// production reports whether a package is used outside tests.
func production(pkg string) bool {
	return !strings.HasPrefix(pkg, "internal/testing") && !strings.HasSuffix(pkg, "test") || pkg == "engine/enginetest"
}

func readTree(top string) (t tree, err error) {
	const format = `{{.ImportPath}};{{join .GoFiles " "}};{{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}};{{len .TestGoFiles}}{{len .XTestGoFiles}}`
	text, err := command(top, "go", "list", "-f", format, "muxlock/...")
	t = tree{make(map[string][]string), make(map[string][]string), make(map[string]bool)}
	for line := range strings.Lines(text) {
		part := strings.Split(strings.TrimSpace(line), ";")
		if len(part) != 4 {
			return t, errors.Join(err, fmt.Errorf("go list: %s", line))
		}
		pkg := strings.TrimPrefix(part[0], "muxlock/")
		t.tests[pkg] = part[3] != "00"
		for _, file := range strings.Fields(part[1]) {
			if production(pkg) {
				t.files[pkg] = append(t.files[pkg], pkg+"/"+file)
			}
		}
		for _, path := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(part[2])))) {
			if used, ours := strings.CutPrefix(path, "muxlock/"); ours && used != pkg {
				t.users[used] = append(t.users[used], pkg)
			}
		}
	}
	return t, err
}

// mutants returns those of all production packages.
func (t tree) mutants(top string) (all []mutant, err error) {
	for pkg := range t.files {
		for _, file := range t.files[pkg] {
			some, err := mutantsOf(top, file)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(a.name+a.file, b.name+b.file) })
	return all, nil
}

// near returns the package and all that use it, the nearest first, if they have tests.
func (t tree) near(pkg string) (all []string) {
	seen := []string{pkg}
	for i := 0; i < len(seen); i++ {
		for _, user := range t.users[seen[i]] {
			if !slices.Contains(seen, user) {
				seen = append(seen, user)
			}
		}
	}
	return slices.DeleteFunc(seen, func(pkg string) bool { return !t.tests[pkg] })
}

// seedEnv names an environment variable. CI sets it to a number of the commit.
const seedEnv = "MUXLOCK_SEED"

// seedOf returns the number in seedEnv, or that of the commit.
func seedOf(top string) (uint64, error) {
	if text := os.Getenv(seedEnv); text != "" {
		return strconv.ParseUint(text, 10, 64)
	}
	text, err := command(top, "git", "rev-parse", "--short=8", "HEAD")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(text)[:8], 16, 64)
}

// drawn plants n mutants drawn from all production packages, and says what sees each. It returns how many nothing sees, or only
// a time-out.
func drawn(n int) (survived int, err error) {
	r, err := newRunner()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.dir)
	if r.simulated, err = simulated(r.top); err != nil {
		return 0, err
	}
	seed, err := seedOf(r.top)
	if err != nil {
		return 0, err
	}
	t, err := readTree(r.top)
	if err != nil {
		return 0, err
	}
	all, err := t.mutants(r.top)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !strings.Contains(m.name, *only) })
	fmt.Printf("%d of %d mutants; to repeat it: %s=%d make mutants DRAW=%d\n", n, len(all), seedEnv, seed, n)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var mu sync.Mutex // guards the following, and the output
	planted := 0
	for next := 0; planted < n && next < len(all); { // as many more as did not compile
		some := all[next:min(next+n-planted, len(all))]
		next += len(some)
		each(some, func(m mutant) {
			began := time.Now()
			by, wrong := r.look(m, t.near(filepath.Dir(m.file)))
			mu.Lock()
			defer mu.Unlock()
			reason, is := reasonFor(m.name)
			switch {
			case errors.Is(wrong, errNoProgram): // no mutant
				return
			case wrong != nil:
				err = errors.Join(err, fmt.Errorf("%s: %w", m.name, wrong))
			case by != "" && !strings.HasSuffix(by, hung):
			case is:
				by = "explained: " + reason
			default:
				survived++
				by = strings.TrimSpace("SURVIVED " + by)
			}
			planted++
			fmt.Printf("%3d/%d %5.1fs  %s\n\t%s\n", planted, n, time.Since(began).Seconds(), m.name, by)
		})
	}
	fmt.Printf("%d planted, %d survived\n", planted, survived)
	return survived, err
}

func reasonFor(mutant string) (reason string, is bool) {
	for line := range strings.Lines(explained) {
		if name, reason, _ := strings.Cut(strings.TrimSpace(line), " | "); name == mutant {
			return reason, true
		}
	}
	return "", false
}

// patience is for the tests of a package, also on a busy machine.
const patience = 5 * time.Minute

// hung ends the name of a test that only its time-out ended.
const hung = "(by its time-out)"

// look returns what sees a mutant: a quick test of the packages, the simulator, or a test on servers. "": nothing.
func (r *runner) look(m mutant, packages []string) (by string, err error) {
	dir, err := r.overlay(map[string]string{m.file: m.text})
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	late := "" // the first that only a time-out ended
	find := func(how, pkg, pattern string, env []string, args ...string) (found bool, err error) {
		args = append([]string{"-test.failfast", "-test.timeout", patience.String()}, args...)
		red, text, err := r.testIn(env, pkg, pattern, dir, args...)
		if err != nil || !red {
			return false, err
		}
		name := firstRed(text)
		timeout := strings.Contains(text, "panic: test timed out")
		test, _, _ := strings.Cut(name, ",")
		if red, _, err := r.testIn(env, pkg, test, r.sound, args...); err != nil || red {
			return false, err // it does not count
		}
		by = fmt.Sprintf("%s: %s %s", how, pkg, name)
		if timeout {
			late = by + " " + hung
		}
		return !timeout, nil
	}
	for _, pkg := range packages {
		if found, err := find("quick", pkg, ".*", []string{"MUXLOCK_QUICK=1"}); found || err != nil {
			return by, err
		}
	}
	if slices.Contains(r.simulated, "muxlock/"+filepath.Dir(m.file)) {
		if found, err := find("simulator", simulator, "TestSchedules", nil, "-schedules", "200", "-seed", "1", "-shrink=false"); found || err != nil {
			return by, err
		}
	}
	for _, pkg := range packages {
		if found, err := find("servers", pkg, ".*", nil); found || err != nil {
			return by, err
		}
	}
	return late, nil
}
