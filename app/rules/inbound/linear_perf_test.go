//go:build perf

package inbound

import (
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfReadingMailTakesLinearTime(t *testing.T) {
	for name, make := range hostile {
		apptest.Linear(t, name, 1<<13, func(n int) func() {
			raw := []byte(make(n))
			return func() { ReplyText(Parse(raw)) }
		})
	}
}
