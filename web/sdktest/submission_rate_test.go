package sdktest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var rateSpan = flag.Duration("rates", 0, "how long the rates by SMTP and by the API are measured, each; 0: 1.5 s")

const rateConnections = 16

// bySMTP and byAPI send mail over 16 connections, one message after another on each, until ctx
// ends, and count accepted mail.
func (h *submissionFixture) bySMTP(ctx context.Context, t *testing.T) int64 {
	return rated(func(i int, n *atomic.Int64) {
		for ctx.Err() == nil {
			c, _, err := dialSMTP(h.smtp)
			if err == nil {
				_, err = c.signIn(h.api.key)
			}
			for k := 0; k < 100 && err == nil && ctx.Err() == nil; k++ { // as many as a connection has
				var a answer
				if a, err = c.handIn(note("ann@example.test", fmt.Sprint("rate ", i, " ", k)), "", "zofia@example.org"); err == nil && a.id() == "" {
					err = fmt.Errorf("%s", a)
				}
				if err == nil {
					n.Add(1)
				}
			}
			if err != nil {
				t.Error(err)
				return
			}
			c.quit() // so that the next connection is accepted
		}
	})
}

func (h *submissionFixture) byAPI(ctx context.Context, t *testing.T) int64 {
	transport := &http.Transport{MaxIdleConnsPerHost: rateConnections}
	defer transport.CloseIdleConnections()
	return rated(func(i int, n *atomic.Int64) {
		for k := 0; ctx.Err() == nil; k++ {
			body := fmt.Sprintf(`{"from":"ann@example.test","to":"zofia@example.org","subject":"rate %d %d","text":"note rate"}`, i, k)
			req, err := http.NewRequest("POST", h.url+"/emails", strings.NewReader(body))
			must(t, err)
			req.Header.Set("Authorization", "Bearer "+h.api.key)
			req.Header.Set("Content-Type", "application/json")
			res, err := transport.RoundTrip(req)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body) // or the connection is not used again
				res.Body.Close()
			}
			if err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("POST /emails: %v, %v", res, err)
				return
			}
			n.Add(1)
		}
	})
}

func rated(hand func(i int, n *atomic.Int64)) int64 {
	var wg sync.WaitGroup
	var n atomic.Int64
	for i := range rateConnections {
		wg.Go(func() { hand(i, &n) })
	}
	wg.Wait()
	return n.Load()
}

// TestSMTPRate: one after the other, and both at the same time.
func TestSMTPRate(t *testing.T) {
	part(t, judged)
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	span := *rateSpan
	if span == 0 {
		span = 1500 * time.Millisecond
	}
	measure := func(take ...func(context.Context, *testing.T) int64) (rates []float64) {
		ctx, cancel := context.WithTimeout(t.Context(), span)
		defer cancel()
		rates = make([]float64, len(take))
		var wg sync.WaitGroup
		for i, f := range take {
			wg.Go(func() { rates[i] = float64(f(ctx, t)) / span.Seconds() })
		}
		wg.Wait()
		return rates
	}
	api, smtp := measure(h.byAPI)[0], measure(h.bySMTP)[0]
	both := measure(h.byAPI, h.bySMTP)
	t.Logf("%d connections each: %.0f messages/s by the API alone, %.0f by SMTP alone; at once %.0f and %.0f", rateConnections, api, smtp, both[0], both[1])
	if smtp < api/4 || both[1] < both[0]/8 {
		t.Error("by SMTP it is much slower than by the API")
	}
}
