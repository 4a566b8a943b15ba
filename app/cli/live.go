package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// liveTimeout bounds the request of status --live.
const liveTimeout = 10 * time.Second

// errNotLive means that the server does not answer.
var errNotLive = errors.New("the server does not answer")

// checkLive asks the server at a listen address once whether its process answers. Unlike status it
// judges neither relays nor backups nor the queue: a restart would not help them. Errors: errNotLive.
func checkLive(ctx context.Context, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/healthz"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return err
	}
	// No proxy of the environment: the server is on this machine.
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	if err != nil {
		return fmt.Errorf("%w at %s: %w", errNotLive, listen, err)
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w as it should at %s: %s", errNotLive, listen, response.Status)
	}
	return nil
}
