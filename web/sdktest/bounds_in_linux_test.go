package sdktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests of this file attack a server from addresses and with keys of their own,
// and judge what others notice: p99 of their sends, memory, and how soon all is over.

const (
	maxP99    = time.Second
	maxGrowth = 150 // MiB
	maxAfter  = 5 * time.Second
)

// from returns a client with a local address and new connections.
func from(addr string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4}}
}

// memory is what the server holds of the machine's, in MiB.
func (in *instance) memory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", in.cmd.Process.Pid))
	must(t, err)
	kib, err := strconv.Atoi(regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(string(status))[1])
	must(t, err)
	return kib >> 10
}

// hold opens n connections from an address, writes text on each and leaves them so
// until the test ends or release is called.
func (in *instance) hold(t *testing.T, addr string, n int, text string) (release func()) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}, Timeout: 10 * time.Second}
	var held []net.Conn
	for range n {
		c, err := dialer.DialContext(t.Context(), "tcp", in.addr)
		must(t, err)
		held = append(held, c)
		go func() { _, _ = io.WriteString(c, text) }() // it may be cut already, or not be read
	}
	release = func() {
		for _, c := range held {
			c.Close()
		}
	}
	t.Cleanup(release)
	return release
}

// bystander is another team at another address.
type bystander struct {
	http *http.Client
	url  string
	key  string
}

// post sends a body and returns how long it took and the status.
func (b *bystander) post(t *testing.T, path, content, body string) (time.Duration, int) {
	t.Helper()
	req, err := http.NewRequest("POST", b.url+path, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+b.key)
	req.Header.Set("Content-Type", content)
	began := time.Now()
	res, err := b.http.Do(req)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return time.Since(began), 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return time.Since(began), res.StatusCode
}

// send sends an email with a text of n bytes.
func (b *bystander) send(t *testing.T, n int) time.Duration {
	t.Helper()
	took, status := b.post(t, "/emails", "application/json",
		fmt.Sprintf(`{"from":"a@example.com","to":"b@example.org","subject":"s","text":%q}`, strings.Repeat("x", n)))
	if status != http.StatusOK {
		t.Errorf("an email of %d bytes: %d after %s", n, status, took)
	}
	return took
}

// wantResponsive sends small and large mail for a while, and chooses topics. It fails if a request
// is refused, or slow compared to a server without load, and returns the p99.
func (b *bystander) wantResponsive(t *testing.T, what, page string, span, alone time.Duration) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var took []time.Duration
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil && !t.Failed(); i++ {
		switch i % 10 {
		case 3:
			took = append(took, b.send(t, 100<<10))
		case 7:
			d, status := b.post(t, page, "application/x-www-form-urlencoded", "topic=x")
			if took = append(took, d); status != http.StatusOK {
				t.Errorf("choosing topics: %d after %s", status, d)
			}
		default:
			took = append(took, b.send(t, 1000))
		}
		<-tick.C
	}
	if len(took) == 0 {
		return 0 // it failed
	}
	slices.Sort(took)
	t.Logf("%s: %d requests, p50 %s, p99 %s", what, len(took), took[len(took)/2].Round(time.Millisecond), p99(took).Round(time.Millisecond))
	if tooSlow(p99(took), alone, maxP99) {
		t.Errorf("%s: p99 is %s, alone it was %s", what, p99(took), alone)
	}
	return p99(took)
}

// page is the path of a hosted page of a contact.
func page(t *testing.T, api client) string {
	t.Helper()
	if status, b := api.do(t, "POST", "/contacts", map[string]any{"email": "reader@example.org"}); status/100 != 2 {
		t.Fatalf("POST /contacts: %d %s", status, b)
	}
	status, b := api.do(t, "POST", "/contacts/reader@example.org/preferences-link", nil)
	path := regexp.MustCompile(`/preferences/[^"]+`).FindString(string(b))
	if path == "" {
		t.Fatalf("no link to a page: %d %s", status, b)
	}
	return path
}

// TestInboundAttacks: each attack once stopped all other requests for 30 seconds and more, while
// memory for a body was reserved by its announced length.
func TestInboundAttacks(t *testing.T) {
	part(t, "operations", judged)
	t.Parallel()
	in := startBare(t, "--sns-topic", "arn:aws:sns:us-east-1:123456789012:mail", "--rate-limit", "0")
	in.run(t, "teams", "create", "Bad")
	good, bad := in.newKey(t), in.newKey(t, "--team", "Bad")
	link := page(t, client{in.url, good})
	other := &bystander{from("127.0.0.2"), in.url, good}
	same := &bystander{from("127.0.0.1"), in.url, good}
	withKey := "Host: x\r\nAuthorization: Bearer " + bad + "\r\n"
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nemail\r\n"
	alone := other.wantResponsive(t, "before", link, time.Second, 0)
	for _, attack := range []struct {
		name, text string
		n          int
	}{
		{"64 KiB announced on a public route, and nothing sent", "POST " + link + " HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n", 512},
		{"64 KiB announced on a foreign page", "POST /unsubscribe/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n", 512},
		{"2 MiB announced to /ingest/ses", "POST /ingest/ses HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n{", 48},
		{"40 MiB announced with a key", "POST /emails HTTP/1.1\r\n" + withKey + "Content-Length: 41943040\r\n\r\n{" + strings.Repeat(" ", 100<<10), 3},
		{"most of 40 MiB, and then nothing", "POST /emails HTTP/1.1\r\n" + withKey + "Content-Length: 41943040\r\n\r\n" + strings.Repeat(" ", 39<<20), 8},
		{"64 KiB announced with a key", "POST /emails HTTP/1.1\r\n" + withKey + "Content-Length: 65536\r\n\r\n{", 512},
		{"uploads that stall", "POST /contacts/imports HTTP/1.1\r\n" + withKey + "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 41943040\r\n\r\n" + form, 192},
		{"64 KiB announced where no body is wanted", "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n", 512},
		{"headers that stall", "POST /emails HTTP/1.1\r\nHost: x\r\n", 500},
	} {
		t.Run(attack.name, func(t *testing.T) {
			before := in.memory(t)
			release := in.hold(t, "127.0.0.1", attack.n, attack.text)
			other.wantResponsive(t, "another address", link, 2*time.Second, alone)
			same.wantResponsive(t, "the same address", link, 2*time.Second, alone)
			if grown := in.memory(t) - before; *perf && grown > maxGrowth {
				t.Errorf("memory grew by %d MiB", grown)
			} else {
				t.Logf("memory grew by %d MiB", grown)
			}
			release()
			if took := other.send(t, 1<<20); tooSlow(took, alone, maxAfter) {
				t.Errorf("an email of 1 MiB afterwards took %s", took)
			}
		})
	}
}

// TestStalledBodyIsCut by the binary's own times.
func TestStalledBodyIsCut(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := startBare(t)
	c, err := net.Dial("tcp", in.addr)
	must(t, err)
	defer c.Close()
	fmt.Fprintf(c, "POST /emails HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", in.newKey(t))
	must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
		t.Errorf("%v %s", err, answer)
	}
}

// TestNoDescriptorsLeft: the log says so, other clients are served, and the server recovers
// immediately.
func TestNoDescriptorsLeft(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := newInstance(t)
	in.wrap = []string{"sh", "-c", `ulimit -n 90; exec "$@"`, "sh"}
	in.serve(t)
	other := &bystander{from("127.0.0.2"), in.url, in.newKey(t)}
	release := in.hold(t, "127.0.0.1", 200, "POST /emails HTTP/1.1\r\n")
	eventually(t, time.Minute, "the log says what is missing", func() (bool, string) {
		log := string(in.log(t))
		return strings.Contains(log, "no file descriptors are left") && strings.Contains(log, "limit of open files is too low"), log
	})
	release()
	other.send(t, 1000)
}

// TestDrainDelay: a load balancer sees the stop before the listener is closed.
func TestDrainDelay(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := startBare(t, "--drain-delay", "8s")
	b := &bystander{from("127.0.0.1"), in.url, in.newKey(t)}
	began := time.Now()
	must(t, in.cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, time.Minute, "/readyz says 503", func() (bool, string) {
		res, err := http.Get(in.url + "/readyz")
		must(t, err)
		res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable, res.Status
	})
	b.send(t, 1000)
	select {
	case <-in.done:
	case <-time.After(stopTimeout):
		t.Fatal("it does not stop")
	}
	if took := time.Since(began); in.err != nil || took < 8*time.Second {
		t.Errorf("it ended after %s: %v", took, in.err)
	}
	in.cmd = nil
}
