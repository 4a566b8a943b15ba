package sdktest

import (
	"bytes"
	endian "encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pgProxy is a proxy between a server and PostgreSQL that parses the protocol and can be cut.
type pgProxy struct {
	addr, to string
	l        net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	open   map[pgWay]chan struct{} // closed while the direction is open
	conns  map[*pgConn]bool
	change func(text []byte) []byte // what a statement becomes; nil: itself
	cuts   []pgCut                  // pending, each at a COMMIT
	done   int                      // of them
	stop   *pgStop                  // for the next group that marks a dot; nil: none
}

// pgWay is one of the two directions.
type pgWay int

const (
	toPostgres pgWay = iota
	fromPostgres
)

// pgStop holds up the COMMIT of a group.
type pgStop struct {
	held chan struct{} // closed once it is there
	over chan struct{} // closed once it may go on
}

// pgCut is how the answer to a COMMIT gets lost.
type pgCut int

const (
	cutBefore pgCut = iota // it never reaches PostgreSQL
	cutAt                  // forwarded, and the connection closed at the same time
	cutAfter               // PostgreSQL has answered it
)

func newPgProxy(t *testing.T, to string) *pgProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &pgProxy{addr: l.Addr().String(), to: to, l: l, open: map[pgWay]chan struct{}{}, conns: map[*pgConn]bool{}}
	for _, way := range []pgWay{toPostgres, fromPostgres} {
		p.open[way] = make(chan struct{})
	}
	p.heal()
	p.running.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.reset()
		p.running.Wait()
	})
	return p
}

func (p *pgProxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		x := &pgConn{p: p, down: c.(*net.TCPConn), gone: make(chan struct{})}
		p.mu.Lock()
		p.conns[x] = true
		p.mu.Unlock()
		p.running.Go(x.serve)
	}
}

// silence stops both directions, or one, without the connections noticing.
func (p *pgProxy) silence(ways ...pgWay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for way := range p.open {
		if len(ways) == 0 || slices.Contains(ways, way) {
			p.open[way] = make(chan struct{})
		}
	}
}

// heal lets delayed and new bytes pass.
func (p *pgProxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, open := range p.open {
		select {
		case <-open:
		default:
			close(open)
		}
	}
}

// stopMark holds up the COMMIT of the next group that marks a dot.
func (p *pgProxy) stopMark() *pgStop {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = &pgStop{make(chan struct{}), make(chan struct{})}
	return p.stop
}

// held waits at a COMMIT that is to be held up; false: x is cut.
func (p *pgProxy) held(x *pgConn) bool {
	p.mu.Lock()
	stop := p.stop
	p.stop = nil
	p.mu.Unlock()
	if stop == nil {
		return true
	}
	close(stop.held)
	select {
	case <-stop.over:
		return true
	case <-x.gone:
		return false
	}
}

// reset breaks all connections.
func (p *pgProxy) reset() {
	p.mu.Lock()
	conns := p.conns
	p.conns = map[*pgConn]bool{}
	p.mu.Unlock()
	for x := range conns {
		x.cut()
	}
}

// cutNext loses the answer to the next COMMIT, and returns how many were lost before.
func (p *pgProxy) cutNext(how pgCut) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, how)
	return p.done
}

// lost is how many answers got lost.
func (p *pgProxy) lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// nextCut returns what happens to the current COMMIT.
func (p *pgProxy) nextCut() (how pgCut, now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cuts) == 0 {
		return 0, false
	}
	how, p.cuts = p.cuts[0], p.cuts[1:]
	p.done++
	return how, true
}

// rewrite makes change replace statements.
func (p *pgProxy) rewrite(change func(text []byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

func (p *pgProxy) changed(text []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.change == nil {
		return text
	}
	return p.change(text)
}

// pass waits until a direction is open; false if x is cut.
func (p *pgProxy) pass(x *pgConn, way pgWay) bool {
	for {
		p.mu.Lock()
		open := p.open[way]
		p.mu.Unlock()
		select {
		case <-x.gone:
			return false
		case <-open:
		}
		p.mu.Lock()
		same := open == p.open[way]
		p.mu.Unlock()
		if same {
			return true
		}
	}
}

// pgConn is one connection through it.
type pgConn struct {
	p        *pgProxy
	down, up *net.TCPConn
	gone     chan struct{} // closed once it is cut
	once     sync.Once

	texts map[string]string // of prepared statements, by name
	marks bool              // the current group marks a dot

	mu   sync.Mutex
	mute bool // the answer to a COMMIT cuts it
}

// cut closes both ends.
func (x *pgConn) cut() {
	x.once.Do(func() {
		close(x.gone)
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, c := range []*net.TCPConn{x.down, x.up} {
			if c != nil {
				_ = c.SetLinger(0)
				c.Close()
			}
		}
	})
}

func (x *pgConn) serve() {
	defer x.cut()
	if !x.p.pass(x, toPostgres) {
		return
	}
	up, err := net.Dial("tcp", x.p.to)
	if err != nil {
		return
	}
	x.mu.Lock()
	x.up = up.(*net.TCPConn)
	x.mu.Unlock()
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(x.answers)
	x.questions()
	x.cut()
}

// run returns the statement that a message makes PostgreSQL run, alone or in a pipeline that ends
// with Sync; empty if none.
func (x *pgConn) run(kind byte, body []byte) string {
	words := bytes.SplitN(body, []byte{0}, 3)
	switch {
	case kind == 'Q':
		return string(words[0])
	case kind == 'P' && len(words) == 3: // name, text
		x.texts[string(words[0])] = string(words[1])
	case kind == 'B' && len(words) == 3: // portal, name
		return x.texts[string(words[1])]
	}
	return ""
}

// ends reports whether a statement ends a group with COMMIT, and whether that one marks a dot.
func (x *pgConn) ends(text string) (commit, marked bool) {
	switch {
	case strings.HasPrefix(text, "BEGIN"):
		x.marks = false
	case strings.Contains(text, "state = 'committed', signature"):
		x.marks = true
	}
	return text == "COMMIT", x.marks
}

// questions carries what the service says, message by message. The first has no type.
func (x *pgConn) questions() {
	x.texts = map[string]string{}
	how, cut := pgCut(0), false
	for kind := byte(0); ; kind = 'x' {
		head := make([]byte, 4)
		if kind != 0 {
			head = make([]byte, 5)
		}
		if _, err := io.ReadFull(x.down, head); err != nil {
			return
		}
		body := make([]byte, endian.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(x.down, body); err != nil || !x.p.pass(x, toPostgres) {
			return
		}
		if kind != 0 {
			commit, marked := x.ends(x.run(head[0], body))
			if commit && marked && !x.p.held(x) {
				return
			}
			if commit {
				how, cut = x.p.nextCut()
			}
			if head[0] == 'Q' || head[0] == 'P' {
				body = x.p.changed(body)
				endian.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
			}
		}
		if cut && how == cutBefore {
			return
		}
		last := cut && (head[0] == 'Q' || head[0] == 'S')
		if last && how == cutAfter {
			x.mu.Lock()
			x.mute = true
			x.mu.Unlock()
		}
		if _, err := x.up.Write(append(head, body...)); err != nil || last && how == cutAt {
			return
		}
	}
}

// answers forwards PostgreSQL's answers. It waits for a COMMIT's answer that is to be lost.
func (x *pgConn) answers() {
	defer x.cut()
	buf := make([]byte, 32<<10)
	var unheard []byte
	for {
		n, err := x.up.Read(buf)
		x.mu.Lock()
		mute := x.mute
		x.mu.Unlock()
		if err != nil || !x.p.pass(x, fromPostgres) {
			return
		}
		if mute {
			unheard = append(unheard, buf[:n]...)
			if ready := len(unheard) - 6; ready >= 0 && bytes.HasPrefix(unheard[ready:], []byte{'Z', 0, 0, 0, 5}) {
				return
			}
			continue
		}
		if _, err := x.down.Write(buf[:n]); err != nil {
			return
		}
	}
}
