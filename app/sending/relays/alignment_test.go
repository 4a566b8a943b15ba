package relays_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/relays"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

const (
	regionA = app.DefaultRegion
	relayB  = app.DefaultRegion + "/b"
)

// aligned starts a server with two relays, of which the reserve may have options, and with domains
// that are checked in a fake DNS.
func aligned(t *testing.T, reserve func(r *relayurl.Relay)) (w *testserver.Server, dns *testserver.FakeDNS, first, second *testserver.FakeRelay, down *outages) {
	t.Helper()
	testserver.FastHeartbeat(t)
	down = &outages{}
	probe := func(_ context.Context, r relayurl.Relay, _ *app.Outgoing, _ bool) []relayurl.Step {
		return []relayurl.Step{{Step: "mail", OK: !down.has(r.FullName())}}
	}
	dns = testserver.NewDNS()
	first = testserver.NewRelayOf(relayurl.Relay{Region: regionA, Host: "relay.test", Port: 587, Connections: 4, DKIM: true}, nil)
	b := relayurl.Relay{Region: regionA, Name: relayB, Host: "b.test", Port: 587, Connections: 4, DKIM: true}
	if reserve != nil {
		reserve(&b)
	}
	second = testserver.NewRelayOf(b, nil)
	w = testserver.NewWithConfig(t, server.Config{Probe: probe, Resolver: dns.Lookup, PollEvery: pollEvery}, first, second)
	w.Start()
	waitForTick()
	return w, dns, first, second, down
}

// fail makes the primary unusable, and repair ends that.
func fail(first *testserver.FakeRelay, down *outages) {
	first.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
	down.add(regionA)
}

func repair(first *testserver.FakeRelay, down *outages) {
	first.SetScript(nil)
	down.remove(regionA)
}

// verified adds a domain whose records are published, with an SPF record and a DMARC policy.
func verified(t *testing.T, w *testserver.Server, dns *testserver.FakeDNS, name, spf, policy string) app.Domain {
	t.Helper()
	d := w.CreateDomain(app.DomainInput{Name: name})
	dns.Publish(w.Services.Domains.DomainRecords(&d))
	dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "send." + name, Value: spf}, {Type: "TXT", Name: "_dmarc." + name, Value: "v=DMARC1; p=" + policy}})
	testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
	pass(time.Second)
	if d = w.Domain(d.ID); d.Status != app.DomainVerified {
		t.Fatalf("%s is %s: %+v", name, d.Status, d.Checks)
	}
	return d
}

// spfRow returns the SPF record of a domain as it is shown.
func spfRow(t *testing.T, w *testserver.Server, id string) app.DNSRecord {
	t.Helper()
	d := w.Domain(id)
	records := w.Services.Domains.DomainRecords(&d)
	return records[slices.IndexFunc(records, func(r app.DNSRecord) bool { return r.Record == app.RecordSPF && r.Type == "TXT" })]
}

// recheck lets the DNS rounds of half an hour pass.
func recheck(t *testing.T, w *testserver.Server) {
	t.Helper()
	for range 3 {
		pass(15 * time.Minute)
		testserver.Must(t, w.Services.Domains.CheckDue(t.Context()))
		pass(time.Second)
	}
}

// Adding, ordering, switching and removing relays changes what a record should be, and not whether
// the domain may send.
func TestRelaysDoNotChangeStatusOfDomain(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, dns, _, _, _ := aligned(t, nil)
		d := verified(t, w, dns, "acme.test", "v=spf1 a:relay.test ~all", "none")
		s := w.CommandServices().Relays
		steps := []struct {
			what   string
			change func() error
			value  string
			lacks  []string
		}{
			{"a reserve", func() error { return nil }, "v=spf1 a:relay.test a:b.test ~all", []string{"a:b.test"}},
			{"switched", func() error { _, err := s.Switch(t.Context(), regionA, "b"); return err }, "v=spf1 a:relay.test a:b.test ~all", []string{"a:b.test"}},
			{"another primary", func() error {
				_, err := s.Order(t.Context(), regionA, []string{relayB, regionA})
				return err
			}, "v=spf1 a:b.test a:relay.test ~all", []string{"a:b.test"}},
			{"a third relay", func() error {
				_, err := s.AddRelay(t.Context(), relays.AddInput{Text: regionA + "/c=smtp://c.test", Reserve: true})
				return err
			}, "v=spf1 a:b.test a:relay.test a:c.test ~all", []string{"a:b.test", "a:c.test"}},
			{"it becomes the primary", func() error {
				_, err := s.Order(t.Context(), regionA, []string{regionA + "/c", relayB, regionA})
				return err
			}, "v=spf1 a:c.test a:b.test a:relay.test ~all", []string{"a:c.test", "a:b.test"}},
			{"it is removed", func() error { _, err := s.Remove(t.Context(), regionA+"/c"); return err }, "v=spf1 a:b.test a:relay.test ~all", []string{"a:b.test"}},
		}
		for _, step := range steps {
			testserver.Must(t, step.change())
			waitForTick()
			recheck(t, w)
			row, now := spfRow(t, w, d.ID), w.Domain(d.ID)
			if now.Status != app.DomainVerified || row.Live != app.LiveFound || row.Status != app.DomainVerified || row.Value != step.value {
				t.Errorf("%s: %s, %+v", step.what, now.Status, row)
			}
			if got := now.SPFCheck().Lacks; !slices.Equal(got, step.lacks) || !strings.Contains(row.Detail, step.lacks[0]+" ") {
				t.Errorf("%s: lacks %q, %q", step.what, got, row.Detail)
			}
		}
		dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "send.acme.test", Value: "v=spf1 mx ~all"}})
		recheck(t, w)
		if got := w.Domain(d.ID).Status; got != app.DomainPending {
			t.Errorf("without the mechanism that it was verified with: %s", got)
		}
	})
}

func sendFrom(t *testing.T, w *testserver.Server, domain string) string {
	t.Helper()
	id, err := w.SendFrom(domain)
	testserver.Must(t, err)
	return id
}

// Mail that would fail the DMARC policy of its domain through an unsigned reserve waits, and nothing
// else does.
func TestUnsignedReserveTakesNoMailOfStrictDomain(t *testing.T) {
	testserver.BothEngines(t)
	for _, ends := range []string{"the primary works again", "an operator switches", "the policy changes"} {
		t.Run(ends, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, dns, first, second, down := aligned(t, func(r *relayurl.Relay) { r.DKIM = false })
				const spf = "v=spf1 a:relay.test a:b.test ~all"
				verified(t, w, dns, "strict.test", spf, "reject")
				verified(t, w, dns, "careful.test", spf, "quarantine")
				verified(t, w, dns, "lax.test", spf, "none")
				fail(first, down)
				strict, careful, lax := sendFrom(t, w, "strict.test"), sendFrom(t, w, "careful.test"), sendFrom(t, w, "lax.test")
				pass(5 * time.Minute)
				later, laxer := sendFrom(t, w, "strict.test"), sendFrom(t, w, "lax.test")
				pass(5 * time.Minute)
				for _, id := range []string{lax, laxer} {
					if w.WantLastEvent(id, app.Sent); second.FinalDots(id) != 1 {
						t.Errorf("of lax.test: %s", w.Timeline(id))
					}
				}
				for id, policy := range map[string]string{strict: "reject", careful: "quarantine", later: "reject"} {
					text := w.Timeline(id)
					if len(second.Transactions(id)) > 0 || strings.Count(text, "the DMARC policy of the domain is "+policy) != 1 {
						t.Errorf("policy %s: it was tried %d times; timeline:\n%s", policy, len(second.Transactions(id)), text)
					}
					shown, err := w.Services.Queue.Show(t.Context(), "", id)
					testserver.Must(t, err)
					if v, err := w.Services.Queue.Verdict(t.Context(), w.Key, id); err != nil || v.Code != "waiting_alignment" || !strings.Contains(shown.Reason, "no DKIM signature") {
						t.Errorf("shown as %q, %v %v", shown.Reason, v, err)
					}
				}
				if n := strings.Count(w.Log.String(), "mail of a domain does not leave through a reserve"); n != 2 {
					t.Errorf("%d warnings", n)
				}
				relay := second
				switch ends {
				case "the primary works again":
					relay = first
					repair(first, down)
				case "an operator switches":
					_, err := w.CommandServices().Relays.Switch(t.Context(), regionA, "b")
					testserver.Must(t, err)
				case "the policy changes":
					for _, name := range []string{"strict.test", "careful.test"} {
						dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "_dmarc." + name, Value: "v=DMARC1; p=none"}})
					}
					recheck(t, w)
				}
				pass(11 * time.Minute)
				for _, id := range []string{strict, careful, later} {
					if w.WantLastEvent(id, app.Sent); relay.FinalDots(id) != 1 {
						t.Errorf("afterwards: %s", w.Timeline(id))
					}
				}
				pass(time.Minute)
				if open := w.SQL("SELECT domain FROM relay_troubles WHERE ended_at IS NULL AND domain IS NOT NULL"); len(open) > 0 {
					t.Errorf("open troubles of %q", open)
				}
			})
		})
	}
}

// Broadcasts wait for the same reasons.
func TestUnsignedReserveTakesNoBroadcastOfStrictDomain(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, dns, first, second, down := aligned(t, func(r *relayurl.Relay) { r.DKIM = false })
		dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "_dmarc." + testserver.TestDomain, Value: "v=DMARC1; p=reject"}})
		id := w.SQL("SELECT id FROM domains WHERE name = ?", testserver.TestDomain)[0]
		d := w.Domain(id)
		dns.Publish(w.Services.Domains.DomainRecords(&d), app.RecordDKIM, app.RecordSPF)
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, id))
		fail(first, down)
		w.AddSubscribers(30)
		b := w.AddDraft()
		w.Queue(b)
		pass(10 * time.Minute)
		if n := len(second.Transactions("")); n > 0 {
			t.Errorf("%d left through the reserve", n)
		}
		repair(first, down)
		pass(15 * time.Minute)
		testserver.WantEachOnce(t, testserver.Received(first, second), 30)
	})
}

func TestAlignedOnly(t *testing.T) {
	for _, only := range []bool{true, false} {
		t.Run(fmt.Sprint(only), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, dns, first, second, down := aligned(t, nil)
				verified(t, w, dns, "named.test", "v=spf1 a:relay.test a:b.test ~all", "reject")
				verified(t, w, dns, "lacks.test", "v=spf1 a:relay.test ~all", "reject")
				s := w.CommandServices().Relays
				_, err := s.SetPolicy(t.Context(), regionA, relays.PolicyInput{AlignedOnly: &only})
				testserver.Must(t, err)
				fail(first, down)
				named, lacks := sendFrom(t, w, "named.test"), []string{sendFrom(t, w, "lacks.test"), sendFrom(t, w, "lacks.test")}
				pass(10 * time.Minute)
				if w.WantLastEvent(named, app.Sent); second.FinalDots(named) != 1 || strings.Contains(w.Timeline(named), "does not name") {
					t.Errorf("only=%v, named: %s", only, w.Timeline(named))
				}
				const line = "the SPF record of lacks.test does not name us-east-1/b"
				warned := strings.Count(w.Log.String(), "mail leaves through a reserve that the SPF record of its domain does not name")
				for _, id := range lacks {
					if !only {
						if w.WantLastEvent(id, app.Sent); second.FinalDots(id) != 1 || !strings.Contains(w.OnlyEvent(id, app.EventType(app.Sent)).Detail.Message, line) || warned != 1 {
							t.Errorf("%d warnings, %s", warned, w.Timeline(id))
						}
						continue
					}
					if len(second.Transactions(id)) > 0 || warned != 0 || !strings.Contains(w.Timeline(id), "the SPF record of the domain does not name it") {
						t.Errorf("%d warnings, %s", warned, w.Timeline(id))
					}
				}
				if !only {
					return
				}
				dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "send.lacks.test", Value: "v=spf1 a:relay.test a:b.test ~all"}})
				recheck(t, w)
				for _, id := range lacks {
					if w.WantLastEvent(id, app.Sent); second.FinalDots(id) != 1 {
						t.Errorf("with the record: %s", w.Timeline(id))
					}
				}
			})
		})
	}
}

// A reserve of Amazon SES needs no term, since SES uses an envelope sender of its own.
func TestAlignedOnlyNeedsNoTermOfSES(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, dns, first, second, down := aligned(t, func(r *relayurl.Relay) {
			r.Host, r.Profile = "email-smtp.eu-west-1.amazonaws.com", relayurl.ProfileSES
		})
		d := verified(t, w, dns, "acme.test", "v=spf1 a:relay.test ~all", "reject")
		if row := spfRow(t, w, d.ID); row.Value != "v=spf1 a:relay.test ~all" || row.Detail != "" {
			t.Errorf("%+v", row)
		}
		_, err := w.CommandServices().Relays.SetPolicy(t.Context(), regionA, relays.PolicyInput{AlignedOnly: new(true)})
		testserver.Must(t, err)
		fail(first, down)
		id := sendFrom(t, w, "acme.test")
		pass(5 * time.Minute)
		if w.WantLastEvent(id, app.Sent); second.FinalDots(id) != 1 {
			t.Error(w.Timeline(id))
		}
	})
}

// A message that is larger than the reserve accepts does not bounce, because the primary may take it.
func TestMessageTooLargeForReserve(t *testing.T) {
	for name, answer := range map[string]testserver.Answer{
		"known in advance": func(context.Context, *app.Outgoing, func() error) app.Result {
			return app.Result{Kind: app.ResultRefused, Stage: app.StageMail, Reply: app.Reply{Enhanced: "5.3.4", Text: "the message has 900 bytes, the relay takes 500"}}
		},
		"refused":            testserver.ReplyWith(app.StageMail, 552, "message size exceeds fixed maximum message size"),
		"refused at the end": testserver.ReplyWith(app.StageDot, 552, "message size exceeds fixed maximum message size"),
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, first, second, down := twoRelays(t, nil)
				fail(first, down)
				small := w.Send("ann@example.net")
				pass(5 * time.Minute)
				w.WantLastEvent(small, app.Sent) // so that the reserve has taken mail of the domain
				second.SetScript(testserver.Always(answer))
				large := w.Send("bob@example.net")
				pass(20 * time.Minute)
				if e := w.Email(large); e.LastEvent == app.Failed || e.LastEvent == app.Bounced || len(second.Transactions(large)) != 1 {
					t.Errorf("%s after %d transactions: %s", e.LastEvent, len(second.Transactions(large)), w.Timeline(large))
				}
				if ev := w.OnlyEvent(large, app.EventDeferred); !strings.Contains(ev.Detail.Message, "too large for this reserve and waits for us-east-1") {
					t.Errorf("timeline: %s", w.Timeline(large))
				}
				if shown, err := w.Services.Queue.Show(t.Context(), "", large); err != nil || !strings.Contains(shown.Reason, "while connecting: refused") {
					t.Errorf("it waits because of %+v, %v", shown, err)
				}
				second.SetScript(nil)
				other := w.Send("carl@example.net")
				pass(time.Minute)
				w.WantLastEvent(other, app.Sent)
				repair(first, down)
				pass(30 * time.Minute)
				if w.WantLastEvent(large, app.Sent); first.FinalDots(large) != 1 {
					t.Errorf("it left %d times through the primary", first.FinalDots(large))
				}
			})
		})
	}
}

// The MX of return paths leads to one host. While that is the provider's of the primary, mail through
// a reserve has no return path of this server: bounces come by the webhook of the reserve.
func TestReturnPathOfReserve(t *testing.T) {
	for host, want := range map[string]string{"email-smtp.eu-west-1.amazonaws.com": "ann@acme.test", "relay.test": "@send.acme.test"} {
		t.Run(host, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				testserver.FastHeartbeat(t)
				dns := testserver.NewDNS()
				primary := relayurl.Relay{Region: regionA, Host: host, Port: 587, Connections: 4, DKIM: true, Profile: relayurl.ProfileGeneric}
				if strings.HasSuffix(host, "amazonaws.com") {
					primary.Profile = relayurl.ProfileSES
				}
				second := testserver.NewRelayOf(relayurl.Relay{Region: regionA, Name: relayB, Host: "b.test", Port: 587, Connections: 4, DKIM: true}, nil)
				w := testserver.NewWithConfig(t, server.Config{Resolver: dns.Lookup, BounceHost: "bounces.mail.example"}, testserver.NewRelayOf(primary, nil), second)
				w.Start()
				waitForTick()
				d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
				dns.Publish(w.Services.Domains.DomainRecords(&d))
				testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
				pass(time.Second)
				_, err := w.CommandServices().Relays.Switch(t.Context(), regionA, "b")
				testserver.Must(t, err)
				waitForTick()
				id := sendFrom(t, w, "acme.test")
				pass(time.Second)
				if got := second.Transactions(id); len(got) != 1 || !strings.HasSuffix(got[0].Message.EnvelopeFrom, want) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// Reports of both providers count for the same team: those of Amazon SES by its id, and those of
// Postmark by a header, in emails and in broadcasts.
func TestReportsOfPrimaryAndReserve(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		ses := relayurl.Relay{Host: "email-smtp.eu-west-1.amazonaws.com", Port: 587, Connections: 4, Profile: relayurl.ProfileSES}
		postmark := relayurl.Relay{Host: "smtp.postmarkapp.com", Port: 587, Connections: 4}
		const sesID = "0102018f0000abcd-11111111-2222-3333-4444-555555555555-000000"
		accepts := testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := testserver.Accept(ctx, m, authorize)
			res.Reply.Text = "Ok " + sesID
			return res
		})
		for _, order := range [][2]relayurl.Relay{{ses, postmark}, {postmark, ses}} {
			order[0].Region, order[1].Region, order[1].Name = regionA, regionA, relayB
			first, second := testserver.NewRelayOf(order[0], nil), testserver.NewRelayOf(order[1], nil)
			w := testserver.New(t, first, second)
			w.Start()
			waitForTick()
			for i, relay := range []*testserver.FakeRelay{first, second} {
				if relay.Profile == relayurl.ProfileSES {
					relay.SetScript(accepts)
				}
				if i == 1 {
					_, err := w.CommandServices().Relays.Switch(t.Context(), regionA, "b")
					testserver.Must(t, err)
					waitForTick()
				}
				to := fmt.Sprintf("bob%d@example.net", i)
				id := w.Send(to)
				pass(time.Second)
				w.WantLastEvent(id, app.Sent)
				report := feedback.Report{Source: app.SourcePostmark, ID: "p", EmailID: idHeader(relay.Transactions(id)), Recipient: to, Kind: feedback.Bounced, Bounce: app.BouncePermanent, SubType: "General", Enhanced: "5.1.1", Diagnostic: "550 5.1.1 no"}
				if relay.Profile == relayurl.ProfileSES {
					report.Source, report.ID, report.EmailID, report.ProviderID = app.SourceSES, "s", "", sesID
				}
				w.Report(report)
				if w.WantLastEvent(id, app.Bounced); w.Suppression(to).ID == "" {
					t.Errorf("%s is not suppressed", to)
				}
			}
			w.AddSubscribers(1)
			b := w.AddDraft()
			w.Queue(b)
			pass(10 * time.Second)
			if sent := second.Transactions(w.EmailIDTo(b, testserver.SubscriberAddress(0))); second.Host == postmark.Host && idHeader(sent) == "" {
				t.Errorf("the broadcast left without the header: %+v", sent)
			}
			w.Stop()
		}
	})
}

// idHeader returns the id in the header by which Postmark reports an email.
func idHeader(sent []testserver.Transaction) string {
	for _, tx := range sent {
		for _, h := range tx.Message.Mail.Headers {
			if h.Name == "X-PM-Metadata-"+app.EmailIDKey {
				return h.Value
			}
		}
	}
	return ""
}

// A signature that covers fields which Amazon SES writes itself is not used again there.
func TestSignatureOfOtherRelayIsNotUsedAgain(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		first := testserver.NewRelayOf(relayurl.Relay{Region: regionA, Host: "relay.test", Port: 587, Connections: 4}, testserver.Always(testserver.ReplyWith(app.StageDot, 451, "later")))
		second := testserver.NewRelayOf(relayurl.Relay{Region: regionA, Name: relayB, Host: "b.test", Port: 587, Connections: 4, Profile: relayurl.ProfileSES}, nil)
		w := testserver.Start(t, first, second)
		waitForTick()
		id := w.Send("bob@example.net")
		pass(time.Second)
		w.WriteDB(func(tx *db.Tx) error {
			return tx.Write("UPDATE units SET signature = ? WHERE email_id = ?", "DKIM-Signature: v=1; h=From:Date:\r\n Message-ID; b=x\r\n", id)
		})
		_, err := w.CommandServices().Relays.Switch(t.Context(), regionA, "b")
		testserver.Must(t, err)
		pass(time.Hour)
		if sent := second.Transactions(id); len(sent) != 1 || sent[0].Message.Signature != "" {
			t.Errorf("%+v", sent)
		}
	})
}

// The forecast of a broadcast is that of the relay that carries it.
func TestForecastFollowsSwitch(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		first := testserver.NewRelayOf(relayurl.Relay{Region: regionA, Host: "relay.test", Port: 587, Connections: 4, Rate: 10}, nil)
		second := testserver.NewRelayOf(relayurl.Relay{Region: regionA, Name: relayB, Host: "b.test", Port: 587, Connections: 4, Rate: 1, Daily: 1000}, nil)
		w := testserver.Start(t, first, second)
		waitForTick()
		b := w.StoreBroadcast(regionA, 3600, time.Now().Add(2*time.Hour))
		around := func(want time.Duration) {
			t.Helper()
			got := w.FinishTimes(b)[b.ID] - time.Until(b.ScheduledAt)
			plan := w.ForecastBroadcast(&app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Relay: regionA, Audience: 3600, From: b.From})
			if got < want-time.Second || got > want+want/5 || plan.FinishesAt.IsZero() {
				t.Errorf("it takes %s, want %s; plan %+v", got, want, plan)
			}
		}
		around(6 * time.Minute)
		_, err := w.CommandServices().Relays.Switch(t.Context(), regionA, "b")
		testserver.Must(t, err)
		waitForTick()
		around(5 * 24 * time.Hour) // 700 of 1,000 a day are for broadcasts
		_, err = w.CommandServices().Relays.Switch(t.Context(), regionA, regionA)
		testserver.Must(t, err)
		waitForTick()
		around(6 * time.Minute)
	})
}
