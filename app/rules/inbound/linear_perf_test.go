//go:build perf

package inbound

import (
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfReadingMailTakesLinearTime(t *testing.T) {
	for name, make := range hostileFiles() {
		if strings.HasPrefix(name, "seed ") {
			continue
		}
		apptest.Linear(t, name, 1<<13, func(n int) func() {
			raw := []byte(make(n))
			return func() { ReplyText(Parse(raw)) }
		})
	}
}
