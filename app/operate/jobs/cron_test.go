package jobs_test

import (
	"sync"
	"testing"
	"time"

	"mailer/app/testing/testserver"
)

func TestStopDoesNotWaitForIdleJob(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		var mu sync.Mutex
		began := map[string]bool{}
		all := w.Services.Jobs.HoldJobs(func(what string) {
			mu.Lock()
			defer mu.Unlock()
			began[what] = true
		})
		w.Start()
		testserver.Sleep(time.Hour + time.Second)
		mu.Lock()
		for _, what := range all {
			if !began[what] {
				t.Errorf("%q did not run within an hour", what)
			}
		}
		mu.Unlock()
		start := time.Now()
		w.Stop()
		if took := time.Since(start); took != 0 {
			t.Errorf("the stop waited %s for jobs that rested", took)
		}
	})
}
