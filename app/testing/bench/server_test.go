package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if runFake() {
		return
	}
	code := m.Run()
	_ = os.RemoveAll(binaryDir())
	os.Exit(code)
}

// binaryDir returns the directory in which this process builds the program.
func binaryDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("mailer-bench-%d", os.Getpid()))
}

// binaryVariable names the environment variable with a program to measure instead of this one.
const binaryVariable = "MAILER_BENCH_BINARY"

// binary builds the program once, as users do.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(binaryVariable); path != "" {
		return path, nil
	}
	path := filepath.Join(binaryDir(), "mailer")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

// server is a running binary with its own database.
type server struct {
	tb   testing.TB
	cmd  *exec.Cmd
	bin  string
	db   string
	addr string
	key  string
	line *starter
	// started is the time from the start until ready.
	started time.Duration
}

// startServer starts the binary on a database in dir and creates a key and a trusted domain.
// Without a relay it captures.
func startServer(tb testing.TB, dir, relay string) *server {
	tb.Helper()
	return startServerIn(tb, nil, dir, relay)
}

// startServerIn starts the binary in a group; nil: without one.
func startServerIn(tb testing.TB, g *group, dir, relay string) *server {
	tb.Helper()
	path := filepath.Join(dir, "bench.db")
	_, err := os.Stat(path)
	return startServerOn(tb, g, path, dir, relay, err != nil)
}

// startServerOn starts the binary on a database. first creates the domain.
func startServerOn(tb testing.TB, g *group, path, dir, relay string, first bool, flags ...string) *server {
	tb.Helper()
	bin, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{tb: tb, bin: bin, db: path, addr: freeAddr(tb)}
	common := append([]string{"--db", s.db}, flags...)
	if first {
		s.run(append([]string{"domains", "add", "example.com", "--trust"}, common...)...)
	}
	s.key = strings.TrimSpace(s.run(append([]string{"keys", "create", "--permission", "full_access", "--name", "bench"}, common...)...))
	args := append([]string{"serve", "--listen", s.addr, "--rate-limit", "0"}, common...)
	if relay != "" {
		args = append(args, "--relay", relay)
	} else {
		args = append(args, "--capture")
	}
	s.cmd = exec.Command(bin, args...)
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	if g != nil {
		g.enter(s.cmd)
	}
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	if g != nil {
		g.started(s.cmd)
	}
	tb.Cleanup(s.stop)
	s.started = s.ready()
	s.line = newStarter(tb, s.cmd)
	return s
}

func freeAddr(tb testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *server) run(args ...string) string {
	s.tb.Helper()
	out, err := exec.Command(s.bin, args...).Output()
	if err != nil {
		s.tb.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

// ready polls /readyz for at most 30 s and returns how long it took.
func (s *server) ready() time.Duration {
	s.tb.Helper()
	start := time.Now()
	for time.Since(start) < 30*time.Second {
		res, err := http.Get("http://" + s.addr + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return time.Since(start)
			}
		}
		runtime.Gosched()
	}
	s.tb.Fatal("the server is not ready after 30 s")
	return 0
}

func (s *server) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	if s.line == nil { // not ready, and failed
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
		return
	}
	s.line.start()
	_ = s.cmd.Wait()
}

// cpu returns the processor time of the server so far.
func (s *server) cpu() time.Duration { return processTime(s.cmd.Process.Pid) }

// memory returns a line of /proc/PID/status in MB: VmRSS is the current memory, VmHWM the peak.
func (s *server) memory(line string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	for text := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(text, line+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				s.tb.Fatal(err)
			}
			return kb / 1024
		}
	}
	s.tb.Fatalf("no %s in status", line)
	return 0
}

// oneEmail returns an email with 5 KB of HTML.
func oneEmail() string {
	html := strings.Repeat("<p>Hello, this is a paragraph of a usual mail.</p>\\n", 100)
	return `{"from":"Mailer <hello@example.com>","to":"you.00000000@example.org","subject":"Hello","html":"` + html + `"}`
}

// request returns a POST request as bytes.
func (s *server) request(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, s.key, len(body), body)
}

// load posts n emails over clients connections, one request at a time on each, and returns the
// sorted latencies.
func (s *server) load(n, clients int) []time.Duration {
	s.tb.Helper()
	return s.post(s.request("/emails", oneEmail()), n, clients)
}

// post sends one request n times, as load does.
func (s *server) post(request []byte, n, clients int) []time.Duration {
	s.tb.Helper()
	return spread(s.tb, n, clients, func(share int) ([]time.Duration, error) { return s.client(request, share) })
}

// spread runs n operations on several clients and returns the sorted latencies.
func spread(tb testing.TB, n, clients int, client func(share int) ([]time.Duration, error)) []time.Duration {
	tb.Helper()
	all := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	for c := range clients {
		share := n / clients
		if c < n%clients {
			share++
		}
		if share == 0 {
			continue
		}
		wg.Go(func() {
			latencies, err := client(share)
			if err != nil {
				tb.Error(err)
			}
			all[c] = latencies
		})
	}
	wg.Wait()
	latencies := slices.Concat(all...)
	slices.Sort(latencies)
	return latencies
}

// client uses one keep-alive connection. It reads as little of an answer as possible, to leave the
// processor to the server.
func (s *server) client(request []byte, n int) ([]time.Duration, error) {
	request = slices.Clone(request)
	digits := bytes.Index(request, []byte("you.")) + len("you.")
	return s.connection(request, n, func() {
		if digits >= len("you.") { // many recipients, as in real use
			copy(request[digits:], fmt.Sprintf("%08d", rand.IntN(100_000_000)))
		}
	})
}

// connection is a client that calls before ahead of each request.
func (s *server) connection(request []byte, n int, before func()) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	latencies := make([]time.Duration, 0, n)
	for range n {
		before()
		start := time.Now()
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		if err := readAnswer(r); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(start))
	}
	return latencies, nil
}

func readAnswer(r *bufio.Reader) error {
	status, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	length, chunked := 0, false // long answers are chunked (RFC 9112 7.1)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "\r\n" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		chunked = chunked || strings.EqualFold(name, "transfer-encoding")
		if strings.EqualFold(name, "content-length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	body, err := readBody(r, length, chunked)
	if err == nil && !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		err = fmt.Errorf("answer %s %s", strings.TrimSpace(status), body)
	}
	return err
}

func readBody(r *bufio.Reader, length int, chunked bool) ([]byte, error) {
	if !chunked {
		return io.ReadAll(io.LimitReader(r, int64(length)))
	}
	body, err := io.ReadAll(httputil.NewChunkedReader(r))
	if err == nil {
		_, err = r.ReadString('\n') // the empty line behind the last chunk
	}
	return body, err
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
