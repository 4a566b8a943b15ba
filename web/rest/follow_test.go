package rest

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/web/rest/openapi"
)

// followed is a server with one route that calls Follow.
type followed struct {
	*fixture
	frames chan []byte
	ended  atomic.Int32
	server *http.Server
	conns  pipeListener
}

func newFollowed(t *testing.T, change ...func(*Config)) *followed {
	f := &followed{fixture: newFixture(t, change...), frames: make(chan []byte), conns: make(pipeListener, 1)}
	RegisterRaw(f.handler, Route{}, openapi.Operation{OperationID: "follow", Method: "GET", Path: "/follow"},
		func(_ context.Context, x *Exchange, _ *struct{}) (*SelfWritten, error) {
			return &SelfWritten{Body: func() {
				f.handler.Follow(x, []byte("first\n\n"), f.frames, func() { f.ended.Add(1) })
			}}, nil
		})
	f.server = &http.Server{Handler: f.handler, WriteTimeout: time.Hour}
	go f.server.Serve(f.conns)
	return f
}

// follow opens a stream and reads its beginning.
func (f *followed) follow(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	client, clientEnd := net.Pipe()
	f.conns <- clientEnd
	if _, err := io.WriteString(client, "GET /follow HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a/1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(client)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Request-Id") == "" || response.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	wantText(t, in, "first\n\n")
	return client, in
}

func wantText(t *testing.T, in io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// stop ends the server, and proves that nothing follows any more.
func (f *followed) stop(t *testing.T) {
	t.Helper()
	f.handler.stopFollowing(t.Context())
	close(f.conns)
	f.server.Close()
}

func TestFollowerHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		client, in := f.follow(t)
		start := time.Now()
		f.frames <- []byte("one\n\n")
		wantText(t, in, "one\n\n")
		wantText(t, in, string(heartbeatFrame))
		if quiet := time.Since(start); quiet < 15*time.Second || quiet > 25*time.Second {
			t.Errorf("it heard nothing for %v", quiet)
		}
		client.Close()
		synctest.Wait()
		if f.ended.Load() != 1 {
			t.Error("it follows after its end")
		}
		f.stop(t)
	})
}

func TestStalledFollowerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		slow, _ := f.follow(t)
		f.frames <- []byte(strings.Repeat("x", 100_000))
		start := time.Now()
		swift, in := f.follow(t)
		for time.Since(start) < 40*time.Second {
			f.frames <- []byte("on\n\n")
			wantText(t, in, "on\n\n")
			time.Sleep(time.Second)
		}
		if f.ended.Load() != 1 {
			t.Errorf("%d ended after %v", f.ended.Load(), time.Since(start))
		}
		slow.Close()
		swift.Close()
		f.stop(t)
	})
}

func TestRevokedKeyEndsFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &someKeys{}
		f := newFollowed(t, func(c *Config) { c.Keys = keys })
		client, in := f.follow(t)
		keys.gone.Store(true)
		start := time.Now()
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) || time.Since(start) > recheckFollowerEvery {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		client.Close()
		f.stop(t)
	})
}

// TestShutdownEndsFollowers: neither listening nor stalled followers delay it.
func TestShutdownEndsFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		quiet, _ := f.follow(t)
		stuck, _ := f.follow(t)
		for range 2 {
			f.frames <- []byte(strings.Repeat("x", 100_000))
		}
		synctest.Wait()
		start := time.Now()
		f.handler.stopFollowing(t.Context())
		if f.ended.Load() != 2 || time.Since(start) > 0 {
			t.Errorf("%d ended after %v", f.ended.Load(), time.Since(start))
		}
		quiet.Close()
		stuck.Close()
		f.stop(t)
	})
}

var manyFollowers = flag.Int("followers", 100, "how many TestFollowersCountAsConnections opens")

// TestFollowersCountAsConnections: at the limit, followers are evicted for requests, and ended ones
// are not counted.
func TestFollowersCountAsConnections(t *testing.T) {
	f := newFollowed(t, func(c *Config) {
		c.Limits.Connections, c.Limits.ConnectionsPerAddress = *manyFollowers, 2**manyFollowers
	})
	server := NewServer(f.handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	request := "GET /follow HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a/1\r\n\r\n"
	var all []net.Conn
	for range *manyFollowers + 10 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, request)
		if response, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || response.StatusCode != 200 {
			t.Fatalf("after %d: %v", len(all), err)
		}
		all = append(all, c)
	}
	server.conns.mu.Lock()
	open := openOf(server.conns)
	server.conns.mu.Unlock()
	if open != *manyFollowers {
		t.Errorf("%d connections count, of %d", open, *manyFollowers)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if openOf(server.conns) != 0 || int(f.ended.Load()) != len(all) {
		t.Errorf("%d connections are left, %d of %d ended", openOf(server.conns), f.ended.Load(), len(all))
	}
	f.stop(t)
}
