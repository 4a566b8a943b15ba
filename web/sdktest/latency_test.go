package sdktest

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// farAway is the round trip between a browser and a server on another continent.
const farAway = 150 * time.Millisecond

// slowLink is a TCP proxy that delays bytes by half a round trip each way. A new connection needs a
// whole one before its first byte, like a TCP handshake.
type slowLink struct {
	addr string

	mu    sync.Mutex
	conns []net.Conn // of browsers
}

func newSlowLink(t *testing.T, to string, trip time.Duration) *slowLink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	d := &slowLink{addr: l.Addr().String()}
	t.Cleanup(func() {
		l.Close()
		d.cut()
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			d.mu.Lock()
			d.conns = append(d.conns, near)
			d.mu.Unlock()
			go late(far, near, trip/2, time.Now().Add(trip+trip/2))
			go late(near, far, trip/2, time.Time{})
		}
	}()
	return d
}

// cut closes all connections: the next request begins with a new one.
func (d *slowLink) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.Close()
	}
	d.conns = nil
}

// late copies bytes with a delay, and none before a time.
func late(to, from net.Conn, by time.Duration, earliest time.Time) {
	type part struct {
		due   time.Time
		bytes []byte
	}
	parts := make(chan part, 1000)
	go func() {
		defer close(parts)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			due := time.Now().Add(by)
			if due.Before(earliest) {
				due = earliest
			}
			parts <- part{due, b[:n]}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	to.Close()
	for range parts { // until the reader has ended
	}
}

// farPage is the timing of a page that was loaded through a slow link.
type farPage struct {
	Painted float64 // the first content, in ms
	Whole   float64 // the last answer of the API that it was painted for, in ms
	Files   int     // of the dashboard, until then
	Asked   string  // when each request began and ended
}

// far loads a page from nothing over new connections.
func (s *screen) far(d *slowLink, path string) farPage {
	s.t.Helper()
	must(s.t, chromedp.Do(s.ctx, chromedp.Navigate("about:blank")))
	command(s, network.ClearBrowserCache, cdp.Empty{})
	d.cut()
	s.load(path)
	return evaluate[farPage](s, `new Promise((done) => new PerformanceObserver((seen) => seen.getEntriesByName('first-contentful-paint').forEach((p) => done(p.startTime))).observe({type: 'paint', buffered: true})).then((Painted) => {
		const all = performance.getEntriesByType('resource').filter((r) => r.startTime < Painted + 200);
		const later = ['/live', '/relays', '/broadcasts?limit=20', '/ingest']; // what the sidebar counts, and the checklist
		const ofPage = all.filter((r) => !r.name.includes('/dashboard/') && !later.some((end) => r.name.endsWith(end)));
		const Whole = Math.max(Painted, ...ofPage.map((r) => r.responseEnd));
		return {Painted, Whole, Files: all.filter((r) => r.name.includes('/dashboard/')).length,
			Asked: all.map((r) => [r.name.replace(/.*\/_\/[0-9a-f]+\//, '').replace(location.origin, ''), Math.round(r.startTime), Math.round(r.responseEnd)].join(' ')).join(', ')};
	})`)
}

// TestDashboardOverSlowLink: over a round trip of 150 ms, and with no file kept from
// before, a page is there with its data within a second.
func TestDashboardOverSlowLink(t *testing.T) {
	part(t, judged)
	w := newDashboardFixture(t)
	d := newSlowLink(t, w.addr, farAway)
	s := newScreen(t, "http://"+d.addr, w.operator.session(t))
	for _, path := range []string{"/", "/emails", "/contacts"} {
		var all []farPage
		for range 5 {
			all = append(all, s.far(d, path))
		}
		slices.SortFunc(all, func(a, b farPage) int { return int(a.Whole - b.Whole) })
		got := all[2]
		t.Logf("%s: painted after %.0f ms, whole after %.0f ms, %d files: %s", path, got.Painted, got.Whole, got.Files, got.Asked)
		if got.Whole > 1000 {
			t.Errorf("%s is there after %.0f ms", path, got.Whole)
		}
	}
	s.fine("far away")
}
