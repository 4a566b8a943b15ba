package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/kit/membudget"
	"mailer/web/rest/openapi"
)

// answerOf is an answer to a request of a team.
func answerOf(all *answerBudget, team string) *answerMemory {
	return &answerMemory{budget: all, x: &Exchange{Key: &app.Key{TeamID: team}}, cost: 1}
}

func TestAnswerShareOfTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newAnswerBudget(AnswerLimits{Keyed: 8 << 20, Wait: 5 * time.Second}, slog.New(slog.DiscardHandler))
		greedy, again, other := answerOf(all, "a"), answerOf(all, "a"), answerOf(all, "b")
		if err := greedy.Reserve(t.Context(), 2<<20); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := again.Reserve(t.Context(), 1<<20)
		if app.CodeOf(err) != app.CodeServiceUnavailable || time.Since(start) != 5*time.Second {
			t.Errorf("over its share: %v after %v", err, time.Since(start))
		}
		if err := again.Reserve(t.Context(), membudget.FreeBytes); err != nil {
			t.Errorf("a small answer: %v", err)
		}
		if err := other.Reserve(t.Context(), 1<<20); err != nil {
			t.Errorf("another team: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			greedy.release()
		}()
		start = time.Now()
		if err := again.Reserve(t.Context(), 1<<20); err != nil || time.Since(start) != time.Second {
			t.Errorf("once it came free: %v after %v", err, time.Since(start))
		}
		again.release()
		other.release()
		if all.keyed.free != all.keyed.size || len(all.keyed.held) != 0 {
			t.Errorf("%d of %d are free, held %v", all.keyed.free, all.keyed.size, all.keyed.held)
		}
	})
}

func TestOversizedAnswerPassesAlone(t *testing.T) {
	all := newAnswerBudget(AnswerLimits{Keyed: 8 << 20, Wait: time.Millisecond}, slog.New(slog.DiscardHandler))
	large := answerOf(all, "a")
	if err := large.Reserve(t.Context(), 100<<20); err != nil {
		t.Fatal(err)
	}
	if err := answerOf(all, "b").Reserve(t.Context(), 1<<20); app.CodeOf(err) != app.CodeServiceUnavailable {
		t.Errorf("beside it: %v", err)
	}
	large.release()
	if all.keyed.free != all.keyed.size {
		t.Errorf("%d of %d came back", all.keyed.free, all.keyed.size)
	}
}

// TestUnreadAnswersAreBounded: the JSON of an answer is reserved before it is sent, without waiting,
// so that clients that don't read can't hold more than their share. A request that wrote something
// gets its answer.
func TestUnreadAnswersAreBounded(t *testing.T) {
	type output struct{ Body []string }
	plan := outputPlanOf(reflect.TypeFor[output]())
	rows := &output{slices.Repeat([]string{strings.Repeat("x", 1000)}, 1000)}
	synctest.Test(t, func(t *testing.T) {
		all := newAnswerBudget(AnswerLimits{Keyed: 8 << 20, Wait: 5 * time.Second}, slog.New(slog.DiscardHandler))
		var open []*answerMemory
		send := func(onlyReads bool) error {
			memory := answerOf(all, "a")
			open = append(open, memory)
			_, err := plan.encode(&Exchange{memory: memory, onlyReads: onlyReads}, rows)
			return err
		}
		for _, want := range []struct {
			onlyReads, refused bool
		}{{true, false}, {true, false}, {true, true}, {false, false}} {
			start := time.Now()
			err := send(want.onlyReads)
			refused := err != nil && app.CodeOf(err) == app.CodeServiceUnavailable
			if refused != want.refused || err != nil && !refused || time.Since(start) != 0 {
				t.Errorf("%+v: %v after %v", want, err, time.Since(start))
			}
		}
		for _, memory := range open {
			memory.release()
		}
		if err := send(true); err != nil {
			t.Errorf("once the others were read: %v", err)
		}
	})
}

// TestListsTakeTurns: only so many lists of a team are read and encoded at the same time, and no
// other requests wait for them.
func TestListsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		b := newFixture(t)
		work := func() {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
		}
		list := func(context.Context, *app.Key, *PageParams) (*ListOutput[numberRow], error) {
			work()
			return NewList([]numberRow{}, false, func(r *numberRow) numberRow { return *r }), nil
		}
		single := func(context.Context, *app.Key, *struct{}) (*echoOutput, error) {
			work()
			return &echoOutput{}, nil
		}
		Register(b.handler, Route{}, openapi.Operation{OperationID: "list", Method: "GET", Path: "/list"}, list)
		Register(b.handler, Route{}, openapi.Operation{OperationID: "single", Method: "GET", Path: "/single"}, single)
		for path, want := range map[string]int32{"/list": maxLists / 2, "/single": 3 * maxLists} {
			most.Store(0)
			var all sync.WaitGroup
			for range 3 * maxLists {
				all.Go(func() {
					w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
					r.Header.Set("Authorization", "Bearer k")
					if b.handler.ServeHTTP(w, r); w.Code != 200 {
						t.Errorf("%s: %d %s", path, w.Code, w.Body)
					}
				})
			}
			if all.Wait(); most.Load() != want {
				t.Errorf("%s: %d at the same time, want %d", path, most.Load(), want)
			}
		}
	})
}

// TestDownloadShare: public answers have shares per resource and per client.
func TestDownloadShare(t *testing.T) {
	all := newAnswerBudget(AnswerLimits{Public: 8 << 20, Wait: time.Millisecond}, slog.New(slog.DiscardHandler))
	take := func(address, what string) (n int) {
		for ; n < 100; n++ {
			x := &Exchange{clientAddr: peerAddress(address)}
			x.memory = &answerMemory{budget: all, x: x, cost: 1}
			if err := x.ReserveFor(t.Context(), what, 512<<10); err != nil {
				if app.CodeOf(err) != app.CodeServiceUnavailable {
					t.Fatal(err)
				}
				return n
			}
		}
		return n
	}
	for i, c := range []struct {
		address, what string
		want          int
	}{
		{"192.0.2.1:1", "one", 4}, {"192.0.2.2:1", "one", 0}, {"192.0.2.1:2", "two", 4}, {"192.0.2.1:3", "three", 0},
		{"192.0.2.2:1", "three", 4}, {"192.0.2.3:1", "four", 4}, {"192.0.2.4:1", "five", 0},
	} {
		if got := take(c.address, c.what); got != c.want {
			t.Errorf("%d: %s of %s holds %d, want %d", i, c.what, c.address, got, c.want)
		}
	}
}

// pipeListener is a listener of connections without any buffer.
type pipeListener chan net.Conn

func (p pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipeListener) Close() error   { return nil }
func (p pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestStalledClientIsCut: a steady client gets a whole large answer, however long it takes.
func TestStalledClientIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration // interval between two reads of the client
		parts int           // chunks that the client reads
		whole bool
		took  time.Duration
	}{
		"steady":         {9 * time.Second, 100, true, 64 * 9 * time.Second},
		"takes nothing":  {0, 0, false, 30 * time.Second},
		"stops half way": {9 * time.Second, 48, false, 48*9*time.Second + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const part = 16 << 10
				ended := make(chan time.Duration, 1)
				limits := DefaultLimits()
				start := time.Now()
				h := &Handler{answerBudget: newAnswerBudget(limits.Answers, slog.New(slog.DiscardHandler))}
				server := &http.Server{WriteTimeout: limits.write, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					x := &Exchange{ResponseWriter: w, memory: &answerMemory{budget: h.answerBudget}}
					_, err := x.Write(make([]byte, 64*part))
					if (err == nil) != c.whole {
						t.Errorf("the answer ended with %v", err)
					}
					ended <- time.Since(start)
				})}
				listener := make(pipeListener, 1)
				go server.Serve(listener)
				client, clientEnd := net.Pipe()
				listener <- clientEnd
				_, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					in := bufio.NewReader(client)
					for range c.parts {
						time.Sleep(c.every)
						if _, err := io.ReadFull(in, make([]byte, part)); err != nil {
							return
						}
					}
				}()
				if took := <-ended; took < c.took-3*c.every || took > c.took+3*c.every {
					t.Errorf("it ended after %v, want about %v", took, c.took)
				}
				client.Close()
				<-done
				close(listener)
				server.Close()
			})
		})
	}
}

func TestLongTextsEncodeAsStrings(t *testing.T) {
	type head struct {
		ID string `json:"id"`
	}
	type part struct {
		HTML *string `json:"html"`
		Text string  `json:"text"`
	}
	type record struct {
		head
		HTML  *string         `json:"html"`
		Empty *string         `json:"empty"`
		Parts map[string]part `json:"parts"`
		Text  string          `json:"text"`
		After int             `json:"after"`
	}
	for name, unit := range map[string]string{
		"ascii": "plain ", "quotes": `"\"<&>'`, "control": "\x00\n\r\t\u2028", "two": "é", "three": "€1", "four": "a😀", "invalid": "\xff\xf0\x9f\x98", "cut": "\xe2\x82",
	} {
		long := strings.Repeat(unit, longTextMin/len(unit)+1)
		v := record{head: head{"x"}, HTML: &long, Text: "x" + long, After: 7, Parts: map[string]part{"b": {Text: "b" + long}, "a": {HTML: &long, Text: "a" + long}, "c": {}}}
		var got, want bytes.Buffer
		if err := errors.Join(Marshal(&got, v), newJSONEncoder(&want).Encode(v)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) || !json.Valid(got.Bytes()) {
			t.Errorf("%s: %d bytes differ from %d", name, got.Len(), want.Len())
		}
		if *v.HTML != long || v.Parts["b"].Text != "b"+long || *v.Parts["a"].HTML != long {
			t.Errorf("%s: the answer itself was changed", name)
		}
		if _, texts := withoutLongTexts(v); len(texts) != 5 {
			t.Errorf("%s: %d texts are written in pieces", name, len(texts))
		}
	}
}

func TestLongTextStopsOnWriteError(t *testing.T) {
	type record struct{ Text string }
	broken := errors.New("gone")
	w := writerFunc(func([]byte) (int, error) { return 0, broken })
	if err := Marshal(w, record{strings.Repeat("x", 1<<20)}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

var _ membudget.Budget = (*answerMemory)(nil)

func TestContextWithoutBudget(t *testing.T) {
	if err := membudget.Reserve(context.Background(), 1<<40); err != nil {
		t.Error(err)
	}
}
