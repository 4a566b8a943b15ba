package sdktest

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checked is what `mailer doctor --json` says, and whether it ended with 0.
type checked struct {
	OK     bool
	Checks []struct {
		Name, Found, Fix string
		OK               bool
	}
	ended bool
}

// failed are the names of checks that failed.
func (c checked) failed() (names []string) {
	for _, check := range c.Checks {
		if !check.OK {
			names = append(names, check.Name)
		}
	}
	return names
}

func (in *instance) doctor(t *testing.T) (c checked) {
	t.Helper()
	cmd := exec.Command(binary.path, "doctor", "--json", "--db", in.db)
	cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
	out, err := cmd.Output()
	if jerr := json.Unmarshal(out, &c); jerr != nil {
		t.Fatalf("doctor: %v\n%s", jerr, out)
	}
	c.ended = err == nil
	return c
}

// TestDoctorFixes breaks a server in several ways: the doctor finds each fault, and its remedy
// works. mailer status agrees.
func TestDoctorFixes(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	expect := func(names ...string) {
		t.Helper()
		c := in.doctor(t)
		if got := strings.Join(c.failed(), ", "); got != strings.Join(names, ", ") || c.OK != (len(names) == 0) || c.ended != c.OK {
			t.Errorf("the doctor finds %q wrong, not %q: %+v", got, names, c)
		}
	}
	expect("domains", "backups")
	in.addDomain(t, "example.test")
	in.run(t, "backup", filepath.Join(in.dir, "copy.db"))
	expect()
	in.run(t, "status") // its exit code is 0

	must(t, os.Chmod(in.db+".key", 0o644))
	expect("master key")
	must(t, os.Chmod(in.db+".key", 0o600))

	in.run(t, "relays", "pause", "us-east-1")
	expect("relay us-east-1")
	in.run(t, "relays", "resume", "us-east-1")

	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	dead := nobody.Addr().String()
	must(t, nobody.Close())
	in.run(t, "relays", "add", "eu=smtp://"+dead+"?tls=off")
	expect("relay eu")
	in.run(t, "relays", "remove", "eu")
	expect()

	in.stop(t)
	if words := in.refused(t, "status"); !strings.Contains(words, "No server is running") {
		t.Errorf("status without a server: %s", words)
	}
}
