package health_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/rules/relayurl"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// zen is a block list that works.
const zen = "zen.example"

// publish publishes address records.
func publish(dns *testserver.FakeDNS, kind string, records ...[2]string) {
	for _, r := range records {
		dns.Publish([]app.DNSRecord{{Type: kind, Name: r[0], Value: r[1]}})
	}
}

// fromOwnAddresses returns a server whose mail leaves from 8.8.4.4 and 8.8.4.5, and that asks block lists.
func fromOwnAddresses(t *testing.T, dns *testserver.FakeDNS, lists ...string) *testserver.Server {
	relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", SPF: "ip4:8.8.4.4/31", DKIM: true}, nil)
	return testserver.NewWithConfig(t, server.Config{BlockLists: lists, Resolver: dns.Lookup}, relay)
}

// known returns the checks of block lists by name.
func known(w *testserver.Server) string {
	w.T.Helper()
	var out []string
	for _, c := range look(w) {
		if strings.HasPrefix(c.Name, "block list") {
			out = append(out, fmt.Sprintf("%t %s: %s", c.OK, c.Name, c.Found))
		}
	}
	return strings.Join(out, "\n")
}

func TestBlockLists(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		publish(dns, "A", [2]string{"2.0.0.127." + zen, "127.0.0.2"})
		w := fromOwnAddresses(t, dns, zen)
		want := func(words ...string) {
			t.Helper()
			testserver.Must(t, w.Services.Health.CheckBlockLists(t.Context()))
			got := known(w)
			for _, word := range words {
				if !strings.Contains(got, word) {
					t.Errorf("%q is not in %s", word, got)
				}
			}
		}
		want("true block lists: 8.8.4.4, 8.8.4.5: not on zen.example")
		if n := dns.Questions("A 4.4.8.8." + zen); n != 1 {
			t.Errorf("%d questions", n)
		}

		publish(dns, "A", [2]string{"4.4.8.8." + zen, "127.0.0.3"})
		publish(dns, "TXT", [2]string{"4.4.8.8." + zen, "see\nhttps://zen.example/8.8.4.4"})
		want("not on zen.example") // it was asked today
		time.Sleep(24 * time.Hour)
		want("false block lists, 8.8.4.4: 8.8.4.4, from which mail leaves, is on a block list: zen.example (127.0.0.3: see https://zen.example/8.8.4.4).")
		status, err := w.Services.Health.Status(t.Context(), "1")
		testserver.Must(t, err)
		lines := 0
		for _, n := range status.Needs {
			if strings.HasPrefix(n.ID, "block_") {
				lines++
			}
		}
		if lines != 1 {
			t.Errorf("the status has %d lines: %+v", lines, status.Needs)
		}
		metrics := map[string]bool{}
		testserver.Must(t, w.Services.Health.EachListing(t.Context(), func(list, address string, listed bool) { metrics[list+" "+address] = listed }))
		if len(metrics) != 2 || !metrics["zen.example 8.8.4.4"] || metrics["zen.example 8.8.4.5"] {
			t.Errorf("metrics: %v", metrics)
		}

		// While the list does not answer, what it said counts; it is asked again after an hour.
		dns.SetDown(true)
		time.Sleep(24 * time.Hour)
		want("false block list zen.example: The block list zen.example gave no answer: no answer in time", "127.0.0.3")
		time.Sleep(48 * time.Hour)
		testserver.Must(t, w.Services.Health.CheckBlockLists(t.Context()))
		if got := known(w); strings.Contains(got, "127.0.0.3") || !strings.Contains(got, "gave no answer") {
			t.Errorf("three days later: %s", got)
		}
		dns.SetDown(false)
		dns.Unpublish("A 4.4.8.8." + zen)
		want("gave no answer")
		time.Sleep(time.Hour)
		want("true block lists: 8.8.4.4, 8.8.4.5: not on zen.example")
	})
}

func TestUnusableBlockLists(t *testing.T) {
	const key = "abcdefghijklmnopqrstuvwxyz"
	for name, test := range map[string]struct {
		list    string
		records [][2]string
		want    string
	}{
		"refuses all":        {zen, [][2]string{{"2.0.0.127.zen.example", "127.255.255.254"}}, "zen.example gave no answer: it refused the question (127.255.255.254)"},
		"refuses an address": {zen, [][2]string{{"2.0.0.127.zen.example", "127.0.0.2"}, {"5.4.8.8.zen.example", "127.255.255.255"}}, "zen.example gave no answer: it refused the question (127.255.255.255)"},
		"was closed":         {zen, nil, "zen.example gave no answer: it does not list 127.0.0.2"},
		"lists everything":   {zen, [][2]string{{"2.0.0.127.zen.example", "127.0.0.2"}, {"1.0.0.127.zen.example", "127.0.0.2"}}, "zen.example gave no answer: it lists every address"},
		"was sold":           {zen, [][2]string{{"2.0.0.127.zen.example", "198.51.100.1"}}, "zen.example gave no answer: it answered 198.51.100.1, which is no answer"},
		"has a key":          {key + ".zen.example", nil, "….zen.example gave no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			dns := testserver.NewDNS()
			publish(dns, "A", test.records...)
			w := fromOwnAddresses(t, dns, test.list)
			testserver.Must(t, w.Services.Health.CheckBlockLists(t.Context()))
			if n := dns.Questions(""); n > 5 {
				t.Errorf("%d questions", n)
			}
			got := known(w)
			if !strings.Contains(got, test.want) || strings.Contains(got, "is on a block list") || strings.Contains(got, key) {
				t.Error(got)
			}
		})
	}
}

func TestBlockListsAreOffByDefault(t *testing.T) {
	dns := testserver.NewDNS()
	w := fromOwnAddresses(t, dns)
	testserver.Must(t, w.Services.Health.CheckBlockLists(t.Context()))
	if n := dns.Questions(""); n != 0 {
		t.Errorf("%d questions", n)
	}
	if got := known(w); !strings.Contains(got, "true block lists: not configured") {
		t.Error(got)
	}
	for _, names := range [][]string{{"zen example"}, {"https://zen.example"}, strings.Split("a.b,b.b,c.b,d.b,e.b,f.b,g.b,h.b,i.b,j.b,k.b", ",")} {
		if _, err := health.ParseBlockLists(names); err == nil {
			t.Errorf("%q are accepted", names)
		}
	}
	if lists, err := health.ParseBlockLists([]string{"Zen.example.", "zen.example"}); err != nil || fmt.Sprint(lists) != "[zen.example]" {
		t.Errorf("%v %v", lists, err)
	}
}

// TestBlockListsEndWithTheServer shows that a round ends when the server stops, and stores nothing.
func TestBlockListsEndWithTheServer(t *testing.T) {
	dns := testserver.NewDNS()
	dns.Block = make(chan struct{})
	w := fromOwnAddresses(t, dns, zen)
	w.Services.StopClaiming()
	if err := w.Services.Health.CheckBlockLists(w.Services.Claiming); err == nil {
		t.Error("it ended well")
	}
	close(dns.Block)
	if got := known(w); !strings.Contains(got, "not asked yet") {
		t.Error(got)
	}
}

func TestReverseNames(t *testing.T) {
	dns := testserver.NewDNS()
	publish(dns, "PTR", [2]string{"4.4.8.8.in-addr.arpa.", "mta.example.com"}, [2]string{"5.4.8.8.in-addr.arpa.", "other.example.com"})
	publish(dns, "A", [2]string{"mta.example.com", "8.8.4.4"}, [2]string{"other.example.com", "8.8.4.4"})
	w := fromOwnAddresses(t, dns)
	find(t, look(w), "reverse name of 8.8.4.4", true, "mta.example.com")
	find(t, look(w), "reverse name of 8.8.4.5", false, "other.example.com does not lead back to the address")
	dns.Unpublish("PTR 5.4.8.8.in-addr.arpa.")
	find(t, look(w), "reverse name of 8.8.4.5", false, "it has none")
	dns.SetDown(true)
	find(t, look(w), "reverse name of 8.8.4.5", false, "can't be checked")
}
