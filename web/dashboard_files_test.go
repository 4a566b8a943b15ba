package web

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
)

// stuckReader is a client that reads nothing: its first Write blocks.
type stuckReader struct {
	header  http.Header
	arrived chan<- *byte // the first byte written
	release <-chan struct{}
}

func (s *stuckReader) Header() http.Header { return s.header }
func (s *stuckReader) WriteHeader(int)     {}
func (s *stuckReader) Write(b []byte) (int, error) {
	select {
	case s.arrived <- &b[0]:
	case <-s.release:
	}
	<-s.release
	return len(b), nil
}

// TestStalledClientsShareDashboardFile: clients without gzip too.
func TestStalledClientsShareDashboardFile(t *testing.T) {
	b := newFixture(t)
	shell := httptest.NewRecorder()
	b.handler.ServeHTTP(shell, httptest.NewRequest("GET", "/dashboard/broadcasts/x", nil))
	at := regexp.MustCompile(`/dashboard/_/\w+/app\.js`).FindString(shell.Body.String())
	if at == "" {
		t.Fatal(shell.Body)
	}
	arrived, release := make(chan *byte), make(chan struct{})
	var over sync.WaitGroup
	for range 20 {
		over.Go(func() {
			b.handler.ServeHTTP(&stuckReader{http.Header{}, arrived, release}, httptest.NewRequest("GET", at, nil))
		})
	}
	copies := map[*byte]int{}
	for range 20 {
		copies[<-arrived]++
	}
	close(release)
	over.Wait()
	if len(copies) != 1 {
		t.Errorf("20 clients hold %d copies", len(copies))
	}
}
