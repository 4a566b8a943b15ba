package sdktest

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestStrangersHoldSockets: 500 connections of as many addresses, which say nothing, keep neither a peer out that is
// known, nor a new one: the one that has been idle longest is cut. A name of EHLO that never ends is cut too.
func TestStrangersHoldSockets(t *testing.T) {
	part(t, "clients", shortForm)
	t.Parallel()
	w := newReceivingFixture(t, strict) // which delivered from 127.0.0.1
	began := time.Now()
	var held []*smtpConn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for i := range 500 {
		c, a, err := dialFrom(fmt.Sprintf("127.20.%d.%d", i/250, i%250+1), w.at)
		if err != nil || a.code != 220 {
			t.Fatalf("stranger %d: %s, %v", i, a, err)
		}
		held = append(held, c)
	}
	cut := func() (list []int) { // strangers whose connections are closed
		for i, c := range held {
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
			if _, err := c.r.Peek(1); err != nil && !isTimeout(err) {
				list = append(list, i)
			}
		}
		return list
	}
	took := time.Since(began)
	first := cut()
	for _, local := range []string{"127.0.0.1", "127.30.0.1"} { // known, and not
		c, a, err := w.greet(local)
		if err != nil || a.code != 250 {
			t.Fatalf("%s: %s, %v", local, a, err)
		}
		if a, err = c.handIn(strings.ReplaceAll(receivedMail, "q1@", local+"@"), "", "support@in.example.test"); err != nil || a.code != 250 {
			t.Errorf("%s: %s, %v", local, a, err)
		}
		c.Close()
	}
	if took > 20*time.Second { // they are cut after 30 s anyway
		t.Skipf("500 connections took %s", took)
	}
	// A connection that is read a moment later than the next one counts as idle for less time.
	if len(first) != 100 || first[99] > 120 {
		t.Errorf("%d were cut for the last ones: %v", len(first), first)
	}
	if then := cut(); len(then) > 102 || len(then) < 101 || then[len(then)-1] > 120 {
		t.Errorf("for the two peers %d were cut", len(then)-len(first))
	}
	if !long() {
		return
	}
	c, _, err := dialFrom("127.40.0.1", w.at)
	must(t, err)
	held = append(held, c)
	began = time.Now()
	for err == nil && time.Since(began) < time.Minute { // a character now and then
		_, err = io.WriteString(c, "E")
		after(t, time.Second)
	}
	if since := time.Since(began); since < 25*time.Second || since > 40*time.Second {
		t.Errorf("a command without end was cut after %s: %v", since, err)
	}
}
