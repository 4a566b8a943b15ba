package rest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest/openapi"
)

func TestRequestLogLevels(t *testing.T) {
	now := testTime
	b := newFixture(t, func(c *Config) { c.Now = func() time.Time { return now } })
	b.handler.log = slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	answer := func(path string, rt Route, took time.Duration, err error) {
		RegisterPublic(b.handler, rt, openapi.Operation{Method: "GET", Path: path}, func(context.Context, *struct{}) (*struct{}, error) {
			now = now.Add(took)
			return &struct{}{}, err
		})
	}
	refused := app.NotFound("thing")
	answer("/quick", Route{}, time.Second, nil)
	answer("/slow", Route{}, time.Second+time.Millisecond, nil)
	answer("/refused", Route{}, 0, refused)
	answer("/probe", Route{Quiet: true}, time.Minute, refused)
	for path, level := range map[string]string{"/quick": "DEBUG", "/slow": "INFO", "/refused": "INFO", "/probe": "DEBUG", "/nowhere": "INFO"} {
		b.log.Reset()
		get(b.handler, path)
		if got := b.log.String(); strings.Count(got, "msg=request ") != 1 || !strings.Contains(got, "level="+level+" msg=request ") {
			t.Errorf("%s, want %s: %s", path, level, got)
		}
	}
}

func TestLogFaultsOnly(t *testing.T) {
	b := newFixture(t, func(c *Config) { c.LogFaultsOnly = func() bool { return true } })
	b.handler.log = slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for path, err := range map[string]error{"/well": nil, "/refused": app.NotFound("thing"), "/fault": errors.New("no disk"), "/full": app.Errorf(app.CodeServiceUnavailable, "full")} {
		RegisterPublic(b.handler, Route{}, openapi.Operation{Method: "GET", Path: path}, func(context.Context, *struct{}) (*struct{}, error) {
			return &struct{}{}, err
		})
	}
	for path, want := range map[string]int{"/well": 0, "/refused": 0, "/nowhere": 0, "/fault": 1, "/full": 1} {
		b.log.Reset()
		get(b.handler, path)
		if got := b.log.String(); strings.Count(got, "msg=request ") != want {
			t.Errorf("%s, want %d lines: %s", path, want, got)
		}
	}
}
