package verdict

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

var update = flag.Bool("update", false, "write the golden file anew")

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// facts returns an event n minutes after noon.
func facts(kind any, to string, n int, d app.EventDetail) app.Event {
	return app.Event{ID: fmt.Sprint(n), Type: app.EventType(fmt.Sprint(kind)), Recipient: to, Detail: d, CreatedAt: noon.Add(time.Duration(n) * time.Minute)}
}

const (
	bob       = "bob@example.net"
	eve       = "eve@example.org"
	zoe       = "zoe@uni.example.org"
	relayName = "eu-west-1"
)

// mail returns the facts of an email with recipients in states and events, newest first.
func mail(to map[string]app.LastEvent, events ...app.Event) Facts {
	f := Facts{Relay: relayName, FromDomain: "studio.example.com", Events: events}
	for _, address := range []string{bob, eve, zoe, app.Erased} {
		if state, ok := to[address]; ok {
			f.Recipients = append(f.Recipients, Recipient{Address: address, State: state})
		}
	}
	return f
}

// one returns the facts of an email with one recipient and an event about it.
func one(state app.LastEvent, d app.EventDetail) Facts {
	return mail(map[string]app.LastEvent{bob: state}, facts(state, bob, 1, d))
}

func (f Facts) listed(origin app.SuppressionOrigin) Facts {
	for i := range f.Recipients {
		f.Recipients[i].Listed = Listing{Origin: origin, Since: noon.Add(2 * time.Minute)}
	}
	return f
}

func (f Facts) answeredBy(answers ...Answer) Facts {
	f.Answers = answers
	return f
}

func (f Facts) through(relay string) Facts {
	f.Relay = relay
	return f
}

func (f Facts) ofBroadcast() Facts {
	f.BroadcastID = "019ab1f4-6c02-7d31-9e0a-5b7c21f0a481"
	return f
}

func (f Facts) with(w Work) Facts {
	f.Work = &w
	return f
}

// waiting returns the facts of a waiting email.
func waiting(w Work, events ...app.Event) Facts {
	return mail(map[string]app.LastEvent{bob: app.Queued}, events...).with(w)
}

// blockedBy returns the facts of a blocked email.
func blockedBy(d Blocker) Facts { return waiting(Work{Wait: WaitBlocked, Blocker: d}) }

// breakerOpen returns the facts of an email whose relay has a problem.
func breakerOpen(kind BlockerKind, t app.RelayTrouble) Facts {
	t.StartedAt = noon
	return blockedBy(Blocker{Kind: kind, Trouble: t})
}

// retry returns the facts of a deferred email.
func retry(d app.EventDetail) Facts {
	return waiting(Work{Wait: WaitRetry, NextAt: noon.Add(time.Hour), Attempts: 2, GivesUpAt: noon.Add(48 * time.Hour)}, facts(app.EventDeferred, "", 1, d))
}

func answer(stage app.Stage, code int, enhanced, words string) app.EventDetail {
	return app.EventDetail{Stage: stage, ReplyCode: code, EnhancedCode: enhanced, Reply: words, Attempt: 1, Relay: relayName}
}

func reported(enhanced, words, subType string) app.EventDetail {
	return app.EventDetail{Source: "ses", EnhancedCode: enhanced, Diagnostic: words, BounceType: "Permanent", BounceSubType: subType}
}

// cases are all states with their expected codes.
var cases = []struct {
	name  string
	code  Code
	facts Facts
}{
	{"accepted", Queued, waiting(Work{Wait: WaitTurn})},
	{"in work", Leaving, waiting(Work{Wait: WaitReply, Attempts: 2})},
	{"scheduled", Scheduled, waiting(Work{Wait: WaitTime, NextAt: noon.Add(24 * time.Hour)})},
	{"moved and rescheduled", Scheduled, waiting(Work{Wait: WaitTime, NextAt: noon.Add(24 * time.Hour)}, facts(app.EventMoved, "", 2, app.EventDetail{}), facts(app.EventRescheduled, "", 1, app.EventDetail{}))},
	{"the day's quota is used", WaitingQuota, waiting(Work{Wait: WaitQuota, NextAt: noon.Add(12 * time.Hour)}, facts(app.EventQuotaWait, "", 1, app.EventDetail{}))},
	{"a recipient of a broadcast", WaitingPace, waiting(Work{Wait: WaitPace}).ofBroadcast()},
	{"guardrail of the team", Guardrails, blockedBy(Blocker{Kind: TeamGuardrail}).ofBroadcast()},
	{"guardrail of the relay", GuardrailsRelay, blockedBy(Blocker{Kind: RelayGuardrail}).ofBroadcast()},
	{"held", Held, waiting(Work{Wait: WaitRelease, Held: app.HoldManual, HeldAt: noon}, facts(app.EventHeld, "", 1, app.EventDetail{Message: "Held by ann@studio.example.com; it leaves once it is released"}))},
	{"held after a restore", HeldRestored, waiting(Work{Wait: WaitRelease, Held: app.HoldRestored, HeldAt: noon})},
	{"held with its broadcast", BroadcastPaused, waiting(Work{Wait: WaitRelease, Held: app.HoldPaused, HeldAt: noon})},
	{"held as damaged", HeldDamaged, Facts{Relay: relayName, Work: &Work{Wait: WaitRelease, Held: app.HoldDamaged, HeldAt: noon}}},
	{"released", Queued, waiting(Work{Wait: WaitTurn}, facts(app.EventReleased, "", 2, app.EventDetail{}), facts(app.EventHeld, "", 1, app.EventDetail{}))},
	{"team suspended", SuspendedTeam, blockedBy(Blocker{Kind: Suspended, Reason: "the invoice of October is open", Since: noon})},
	{"no relay", WaitingNoRelay, blockedBy(Blocker{Kind: NoRelay})},
	{"no relay for its region", WaitingNoRegion, blockedBy(Blocker{Kind: NoRegion})},
	{"accepted while captured", WaitingCapture, blockedBy(Blocker{Kind: NoRegion}).through(app.CaptureRegion)},
	{"relay paused", WaitingRelayPaused, blockedBy(Blocker{Kind: Paused, Since: noon, Until: noon.Add(time.Hour)})},
	{"relay paused until resumed", WaitingRelayPaused, blockedBy(Blocker{Kind: Paused, Since: noon})},
	{"relay can't be reached", WaitingRelayDown, breakerOpen(BreakerOpen, app.RelayTrouble{Failures: 3, Detail: app.EventDetail{Stage: app.StageConnect, Reply: "dial tcp 192.0.2.1:587: connection refused", NextAttemptAt: "2026-11-23T12:00:38.000Z"}})},
	{"no TLS", WaitingRelayTLS, breakerOpen(BreakerOpen, app.RelayTrouble{Failures: 3, Detail: app.EventDetail{Stage: app.StageTLS, Reply: "x509: certificate has expired"}})},
	{"sign-in refused", WaitingRelaySignIn, breakerOpen(BreakerOpen, app.RelayTrouble{Failures: 3, Detail: answer(app.StageAuth, 535, "5.7.8", "Error: authentication failed")})},
	{"everybody refused", WaitingRelayRefuses, breakerOpen(BreakerOpen, app.RelayTrouble{Failures: 3, Detail: answer(app.StageMail, 550, "5.7.0", "")})},
	{"the domain refused", PausedDomain, breakerOpen(BreakerOpen, app.RelayTrouble{TeamID: "t", Domain: "studio.example.com", Failures: 3, Detail: answer(app.StageMail, 554, "5.7.1", "sender not verified")})},
	{"daily limit", WaitingRelayLimit, breakerOpen(LimitReached, app.RelayTrouble{Detail: app.EventDetail{Stage: app.StageConnect, NextAttemptAt: "2026-11-23T18:00:00.000Z"}})},
	{"team's share of it", WaitingRelayShare, breakerOpen(LimitReached, app.RelayTrouble{TeamID: "t", Detail: app.EventDetail{Stage: app.StageConnect}})},
	{"unsigned by the reserve", WaitingAlignment, breakerOpen(Unaligned, app.RelayTrouble{TeamID: "t", Domain: "studio.example.com"})},

	{"put off", Deferred, retry(answer(app.StageRcpt, 450, "4.2.0", "try again"))},
	{"greylisted", Greylisted, retry(answer(app.StageRcpt, 451, "4.7.1", "Greylisted, please come back in 300 seconds"))},
	{"refused once", DeferredRefused, retry(answer(app.StageData, 554, "5.7.1", "no"))},
	{"mailbox full for now", DeferredFull, retry(answer(app.StageRcpt, 452, "4.2.2", "over quota"))},
	{"too much at once", DeferredRate, retry(answer(app.StageMail, 421, "4.7.28", "unusual rate"))},
	{"by policy for now", DeferredPolicy, retry(answer(app.StageRcpt, 450, "4.7.1", "client host rejected"))},
	{"its server does not answer", DeferredUnreachable, retry(answer(app.StageRcpt, 450, "4.4.1", "no answer from host"))},
	{"line lost", DeferredLost, retry(app.EventDetail{Stage: app.StageData, Reply: "the relay closed the connection"})},
	{"in doubt", Doubt, waiting(Work{Wait: WaitRetry, NextAt: noon.Add(time.Hour)}, facts(app.EventInDoubt, "", 1, app.EventDetail{Stage: app.StageDot}))},
	{"interrupted", Interrupted, waiting(Work{Wait: WaitRetry, NextAt: noon.Add(time.Hour)}, facts(app.EventInterrupted, "", 1, app.EventDetail{}))},
	{"put off, its event is gone", WaitingRetry, waiting(Work{Wait: WaitRetry, NextAt: noon.Add(time.Hour)})},
	{"sent again, and waits", WaitingRetry, waiting(Work{Wait: WaitRetry, NextAt: noon.Add(time.Hour)}, facts(app.EventRequeued, "", 2, app.EventDetail{}), facts(app.EventDeferred, "", 1, app.EventDetail{}))},

	{"taken", Sent, one(app.Sent, answer(app.StageDot, 250, "2.0.0", "Ok"))},
	{"taken, a copy of another", Sent, mail(map[string]app.LastEvent{bob: app.Sent}, facts(app.Sent, bob, 2, app.EventDetail{}), facts(app.EventResent, "", 1, app.EventDetail{}))},
	{"taken, a machine looked at it", Sent, mail(map[string]app.LastEvent{bob: app.Sent}, facts(app.EventPrefetched, bob, 2, app.EventDetail{}), facts(app.Sent, bob, 1, app.EventDetail{}))},
	{"taken after trouble", Sent, mail(map[string]app.LastEvent{bob: app.Sent}, facts(app.Sent, bob, 2, app.EventDetail{}), facts(app.EventRelayTrouble, "", 1, app.EventDetail{}))},
	{"captured", Captured, one(app.Sent, app.EventDetail{}).through(app.CaptureRegion)},
	{"test recipient", TestRecipient, one(app.Bounced, app.EventDetail{Message: TestWords + "bounced, without leaving this server"})},
	{"test recipient left out", TestRecipient, one(app.Suppressed, app.EventDetail{Message: TestWords + "suppressed, without leaving this server"})},
	{"delivered", Delivered, one(app.Delivered, app.EventDetail{Source: "ses"})},
	{"delayed at the provider", DeliveryDelayed, one(app.DeliveryDelayed, app.EventDetail{Source: "ses", EnhancedCode: "4.4.1", Diagnostic: "no answer from host"})},
	{"opened", Opened, mail(map[string]app.LastEvent{bob: app.Delivered}, facts(app.Opened, bob, 2, app.EventDetail{}), facts(app.Delivered, bob, 1, app.EventDetail{}))},
	{"opened, of a broadcast", Opened, one(app.Opened, app.EventDetail{}).ofBroadcast()},
	{"clicked", Clicked, one(app.Clicked, app.EventDetail{}).ofBroadcast()},
	{"answered", Answered, one(app.Delivered, app.EventDetail{}).answeredBy(Answer{Address: "BOB@example.net", Name: "Bob", Proven: true, At: noon.Add(13 * time.Minute), After: 12 * time.Minute})},
	{"answered, no name, no time", Answered, one(app.Sent, app.EventDetail{}).answeredBy(Answer{Address: bob, Proven: true, At: noon})},
	{"claims to answer", Delivered, one(app.Delivered, app.EventDetail{}).answeredBy(Answer{Address: bob, At: noon, After: time.Hour})},
	{"out of office", Delivered, one(app.Delivered, app.EventDetail{}).answeredBy(Answer{Address: bob, Proven: true, Auto: app.AutoReply, At: noon})},
	{"answered, and complained", Complained, one(app.Complained, app.EventDetail{}).answeredBy(Answer{Address: bob, Proven: true, At: noon})},
	{"one of two answered", MixedDelivered, mail(map[string]app.LastEvent{bob: app.Delivered, eve: app.Delivered}).answeredBy(Answer{Address: eve, Name: "Eve", Proven: true, At: noon, After: 49 * time.Hour})},
	{"both answered", Answered, mail(map[string]app.LastEvent{bob: app.Delivered, eve: app.Sent}).answeredBy(Answer{Address: eve, Proven: true, At: noon}, Answer{Address: bob, Name: "Bob", Proven: true, At: noon.Add(-time.Hour)})},
	{"unsubscribed", Unsubscribed, mail(map[string]app.LastEvent{bob: app.Delivered}, facts(app.EventUnsubscribed, bob, 2, app.EventDetail{})).ofBroadcast()},
	{"complained", Complained, one(app.Complained, app.EventDetail{Source: "ses"}).listed(app.OriginComplaint)},

	{"no such mailbox", BouncedUnknownUser, one(app.Bounced, answer(app.StageRcpt, 550, "5.1.1", "User unknown")).listed(app.OriginBounce)},
	{"no such mailbox, lifted", BouncedUnknownUser, one(app.Bounced, reported("", "", "NoEmail"))},
	{"no such mailbox, in words", BouncedUnknownUser, one(app.Bounced, answer(app.StageRcpt, 550, "5.5.0", "Requested action not taken: mailbox unavailable")).listed(app.OriginBounce)},
	{"too much mail for it", BouncedPolicy, one(app.Bounced, answer(app.StageRcpt, 550, "5.2.1", "The user you write to is receiving mail too quickly"))},
	{"given up by a server on the way", BouncedUnreachable, one(app.Bounced, reported("4.4.7", "message expired", "General"))},
	{"mailbox disabled", BouncedDisabled, one(app.Bounced, reported("5.2.1", "disabled", "")).listed(app.OriginBounce)},
	{"no such domain", BouncedNoDomain, one(app.Bounced, reported("5.1.10", "null MX", "NoEmail")).listed(app.OriginBounce)},
	{"no address", BouncedBadAddress, one(app.Bounced, answer(app.StageRcpt, 0, "5.1.3", "an address of 300 bytes")).listed(app.OriginBounce)},
	{"mailbox full", BouncedFull, one(app.Bounced, reported("5.2.2", "over quota", "MailboxFull"))},
	{"mailbox full, no code", BouncedFull, one(app.Bounced, answer(app.StageRcpt, 552, "", "exceeded"))},
	{"too large for it", BouncedTooLarge, one(app.Bounced, reported("5.2.3", "too big", "MessageTooLarge"))},
	{"DMARC", BouncedAuthentication, one(app.Bounced, reported("5.7.26", "unauthenticated mail is prohibited", "ContentRejected"))},
	{"DMARC, in words", BouncedAuthentication, one(app.Bounced, reported("5.7.1", "rejected by the DMARC policy of studio.example.com", "ContentRejected"))},
	{"spam", BouncedSpam, one(app.Bounced, reported("5.7.1", "Message rejected as spam by Content Filtering.", "ContentRejected"))},
	{"content", BouncedContent, one(app.Bounced, reported("5.6.0", "bad MIME", "ContentRejected"))},
	{"sender", BouncedSender, one(app.Bounced, answer(app.StageRcpt, 550, "5.1.8", "sender domain does not exist"))},
	{"relaying", BouncedRelaying, one(app.Bounced, answer(app.StageRcpt, 554, "5.7.1", "Relay access denied"))},
	{"policy", BouncedPolicy, one(app.Bounced, answer(app.StageRcpt, 554, "5.7.1", "Delivery not authorized"))},
	{"on the provider's list", BouncedProviderList, one(app.Bounced, reported("5.1.1", "", "OnAccountSuppressionList")).listed(app.OriginBounce)},
	{"unreachable", BouncedUnreachable, one(app.Bounced, reported("5.4.4", "no route to host", "General"))},
	{"bounced", BouncedOther, one(app.Bounced, reported("5.5.0", "invalid", "General"))},
	{"bounced, nothing said", BouncedOther, one(app.Bounced, app.EventDetail{Source: "bounce"})},

	{"suppressed, bounced", SuppressedBounce, one(app.Suppressed, app.EventDetail{Message: "on the suppression list"}).listed(app.OriginBounce)},
	{"suppressed, complained", SuppressedComplaint, one(app.Suppressed, app.EventDetail{Message: "on the suppression list"}).listed(app.OriginComplaint)},
	{"suppressed by hand", SuppressedManual, one(app.Suppressed, app.EventDetail{Message: "on the suppression list"}).listed(app.OriginManual)},
	{"suppressed, unsubscribed", SuppressedUnsubscribe, one(app.Suppressed, app.EventDetail{Message: "on the suppression list"}).listed(app.OriginUnsubscribe)},
	{"suppressed, and no more", SuppressedLifted, one(app.Suppressed, app.EventDetail{Message: "on the suppression list"})},
	{"opted out", SuppressedOptOut, one(app.Suppressed, app.EventDetail{Message: "Not sent to this recipient: opted out of the topic"})},
	{"erased", Erased, mail(map[string]app.LastEvent{app.Erased: app.Suppressed}, facts(app.Suppressed, app.Erased, 1, app.EventDetail{Message: "Not sent: the recipient was erased"}))},

	{"expired", FailedExpired, mail(map[string]app.LastEvent{bob: app.Failed}, facts(app.Failed, bob, 2, app.EventDetail{Reason: app.ReasonExpired, Attempt: 12}), facts(app.EventDeferred, "", 1, answer(app.StageRcpt, 450, "4.4.1", "no answer")))},
	{"not rendered", FailedRender, one(app.Failed, app.EventDetail{Reason: app.ReasonRenderLimit, Stage: app.StageCompose, Message: "x"})},
	{"expired, never tried", FailedExpired, one(app.Failed, app.EventDetail{Reason: app.ReasonExpired})},
	{"expired in doubt", FailedDoubt, mail(map[string]app.LastEvent{bob: app.Failed}, facts(app.Failed, bob, 2, app.EventDetail{Reason: app.ReasonExpired, Attempt: 3}), facts(app.EventInDoubt, "", 1, app.EventDetail{}))},
	{"too large for the relay", FailedTooLarge, one(app.Failed, answer(app.StageMail, 0, "5.3.4", "the message has 12000000 bytes, the relay takes 10000000"))},
	{"no SMTPUTF8", FailedUTF8, one(app.Failed, answer(app.StageMail, 0, "5.6.7", "an address or header needs SMTPUTF8, which the relay does not offer"))},
	{"no message can be made", FailedCompose, one(app.Failed, answer(app.StageCompose, 0, "5.6.0", "could not compose the message"))},
	{"domain gone", FailedDomainGone, one(app.Failed, answer(app.StageCompose, 0, "", "the domain studio.example.com is no longer one of this team's"))},
	{"sender refused", FailedSender, one(app.Failed, answer(app.StageMail, 550, "", "sender rejected"))},
	{"message refused by policy", FailedPolicy, one(app.Failed, answer(app.StageDot, 554, "5.7.1", "blocked"))},
	{"provider dropped it", FailedProvider, one(app.Failed, app.EventDetail{Source: "ses", Diagnostic: "Bad content"})},
	{"message refused", FailedOther, one(app.Failed, answer(app.StageDot, 554, "5.5.0", "transaction failed"))},
	{"failed, its event is gone", Unknown, mail(map[string]app.LastEvent{bob: app.Failed})},
	{"waits, and nothing is to be done", Unknown, mail(map[string]app.LastEvent{bob: app.Queued})},

	{"canceled", Canceled, mail(map[string]app.LastEvent{bob: app.Canceled}, facts(app.Canceled, "", 1, app.EventDetail{Message: "Canceled; nothing more of it leaves"}))},
	{"dropped", Canceled, mail(map[string]app.LastEvent{bob: app.Canceled}, facts(app.Canceled, "", 1, app.EventDetail{Message: "Canceled by the operator; nothing more of it leaves"}))},
	{"canceled with its broadcast", CanceledBroadcast, mail(map[string]app.LastEvent{bob: app.Canceled}).ofBroadcast()},

	{"all three delivered", Delivered, mail(map[string]app.LastEvent{bob: app.Delivered, eve: app.Delivered, zoe: app.Delivered}, facts(app.Delivered, zoe, 3, app.EventDetail{}), facts(app.Delivered, eve, 2, app.EventDetail{}), facts(app.Delivered, bob, 1, app.EventDetail{}))},
	{"all three taken, one read it", Opened, mail(map[string]app.LastEvent{bob: app.Sent, eve: app.Sent, zoe: app.Sent}, facts(app.Opened, "", 3, app.EventDetail{}))},
	{"one has it, one bounced, one waits", MixedDelivered, mail(map[string]app.LastEvent{bob: app.Delivered, eve: app.Bounced, zoe: app.Queued},
		facts(app.EventDeferred, zoe, 3, answer(app.StageRcpt, 450, "4.4.1", "no answer from host")), facts(app.Bounced, eve, 2, answer(app.StageRcpt, 550, "5.1.1", "unknown"))).
		with(Work{Wait: WaitRetry, NextAt: noon.Add(5 * time.Hour), GivesUpAt: noon.Add(48 * time.Hour), Attempts: 1})},
	{"one complained, the others have it", MixedDelivered, mail(map[string]app.LastEvent{bob: app.Delivered, eve: app.Complained, zoe: app.Delivered}, facts(app.Complained, eve, 3, app.EventDetail{}))},
	{"taken for two, one suppressed", MixedSent, mail(map[string]app.LastEvent{bob: app.Sent, eve: app.Suppressed, zoe: app.Sent}).listed(app.OriginBounce)},
	{"nobody has it", Mixed, mail(map[string]app.LastEvent{bob: app.Bounced, eve: app.Failed}, facts(app.Bounced, bob, 1, answer(app.StageRcpt, 550, "5.1.1", "unknown")), facts(app.Failed, eve, 1, answer(app.StageDot, 554, "5.5.0", "no")))},
	{"two waiting, two reasons", Mixed, mail(map[string]app.LastEvent{bob: app.Queued, eve: app.Queued}, facts(app.EventDeferred, bob, 3, answer(app.StageRcpt, 452, "4.2.2", "over quota")), facts(app.EventDeferred, eve, 2, answer(app.StageRcpt, 450, "4.7.1", "greylisted"))).
		with(Work{Wait: WaitRetry, NextAt: noon.Add(time.Hour)})},
	{"four ends", Mixed, func() Facts {
		f := mail(map[string]app.LastEvent{bob: app.Bounced, eve: app.Failed, zoe: app.Suppressed}, facts(app.Bounced, bob, 1, answer(app.StageRcpt, 550, "5.1.1", "unknown")), facts(app.Failed, eve, 1, answer(app.StageDot, 554, "5.5.0", "no")))
		f.Recipients = append(f.Recipients, Recipient{Address: "amy@example.com", State: app.Canceled})
		return f
	}()},
}

func TestEveryStateHasSentence(t *testing.T) {
	var out strings.Builder
	reachedCodes := map[Code]bool{}
	for _, c := range cases {
		v := Of(&c.facts)
		if v.Code != c.code {
			t.Errorf("%s: %s, want %s", c.name, v.Code, c.code)
		}
		isSound(t, c.name, &v)
		if len(v.Text) > 160 && len(v.Parts) == 0 {
			t.Errorf("%s: %d bytes: %s", c.name, len(v.Text), v.Text)
		}
		reachedCodes[v.Code] = true
		fmt.Fprintf(&out, "%s: %s, %s\n  %s\n  %s\n", c.name, v.Code, v.Tone, v.Text, v.Fix)
	}
	for _, tpl := range Templates() {
		if !reachedCodes[tpl.Code] {
			t.Errorf("no case comes to %s", tpl.Code)
		}
	}
	golden := filepath.Join("testdata", "verdicts.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Error("sentences changed: look at the diff of testdata/verdicts.txt after go test ./app/verdict -update")
	}
}

func TestManualNamesEachCode(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "..", "web", "manual", "email-states.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(manual), "## The verdict")
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.HasPrefix(cells[1], " `") || cells[1] == " `code` " {
			continue
		}
		for _, code := range strings.Fields(cells[1]) {
			named[strings.Trim(code, "`")] = true
		}
	}
	for _, tpl := range Templates() {
		if !named[string(tpl.Code)] {
			t.Errorf("the manual does not name %s", tpl.Code)
		}
		delete(named, string(tpl.Code))
	}
	for code := range named {
		t.Errorf("the manual names %s, which is none", code)
	}
}

// isSound checks the invariants of verdicts.
func isSound(t *testing.T, name string, v *Verdict) {
	t.Helper()
	all := []VerdictPart{{v.Code, v.Tone, v.Text, v.Fix, v.Params}}
	for _, p := range append(all, v.Parts...) {
		tpl := templates[p.Code]
		if tpl == nil || p.Text == "" || p.Fix == "" || p.Tone == "" {
			t.Fatalf("%s: %+v", name, p)
		}
		if strings.ContainsAny(p.Text+p.Fix, "{}") || strings.Contains(p.Text+p.Fix, "  ") {
			t.Errorf("%s: %q %q", name, p.Text, p.Fix)
		}
	}
}

func TestTemplatesUseKnownParams(t *testing.T) {
	full := VerdictParams{Address: "a", Domain: "b", FromDomain: "c", Relay: "d", Server: "e", BroadcastID: "f", Count: 1, Total: 2, Reached: 3, Attempts: 4, ReplyCode: 5,
		EnhancedCode: "g", Answer: "h", Said: "i", At: "j", Since: "k", NextAt: "l", Until: "m", GivesUpAt: "n", SuppressedSince: "o", By: "p", Reason: "q", Outcome: "r", Region: "s", Because: "t", Kept: "u", Name: "v", After: "w"}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	values := full.values()
	if len(values) != len(members) {
		t.Errorf("%d values, %d members", len(values), len(members))
	}
	for _, v := range values {
		if fmt.Sprint(members[v.name]) != v.text {
			t.Errorf("%s is %q, in JSON %v", v.name, v.text, members[v.name])
		}
	}
	seen := map[Code]bool{}
	for _, tpl := range Templates() {
		if seen[tpl.Code] {
			t.Errorf("%s occurs twice", tpl.Code)
		}
		seen[tpl.Code] = true
		for _, text := range []string{tpl.Text, tpl.Many, tpl.Fix} {
			if _, whole := put(strings.NewReplacer("[", "", "]", "").Replace(text), values); !whole || strings.Count(text, "[") != strings.Count(text, "]") {
				t.Errorf("%s: %q", tpl.Code, text)
			}
		}
	}
}

func TestQuotedAnswerIsNotATemplate(t *testing.T) {
	f := one(app.Bounced, answer(app.StageRcpt, 554, "5.7.1", "go [away] {address} "+strings.Repeat("long words ", 40)))
	v := Of(&f)
	if !strings.Contains(v.Fix, "go [away] {address} long") || !strings.HasSuffix(v.Params.Said, " …") || len(v.Params.Said) > maxQuote+5 {
		t.Errorf("%s / %s", v.Text, v.Fix)
	}
}

// anyOf returns one of all at random.
func anyOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// anyFacts returns random facts.
func anyFacts(r *rand.Rand) Facts {
	f := Facts{Relay: anyOf(r, relayName, app.CaptureRegion, ""), FromDomain: anyOf(r, "studio.example.com", ""), BroadcastID: anyOf(r, "", "b")}
	states := append(app.LastEvents(), "", "nonsense")
	addresses := []string{bob, eve, zoe, app.Erased, "", "no address", "@", "<é@ü>"}
	for range r.IntN(5) {
		f.Recipients = append(f.Recipients, Recipient{Address: anyOf(r, addresses...), State: anyOf(r, states...),
			Listed: Listing{Origin: anyOf(r, "", app.OriginBounce, app.OriginComplaint, app.OriginManual, app.OriginUnsubscribe, "x"), Since: anyOf(r, time.Time{}, noon)}})
	}
	kinds := []string{"deferred", "in_doubt", "interrupted", "held", "released", "moved", "requeued", "resent", "quota_wait", "rescheduled", "relay_trouble", "prefetched", "unsubscribed", "queued"}
	for _, s := range states {
		kinds = append(kinds, string(s))
	}
	stages := []app.Stage{"", app.StageCompose, app.StageConnect, app.StageTLS, app.StageAuth, app.StageMail, app.StageRcpt, app.StageData, app.StageDot, "x"}
	detail := func() app.EventDetail {
		return app.EventDetail{Message: anyOf(r, "", TestWords, "Held by ", "Canceled by ;", "suppression list", "\xff"), Reason: anyOf(r, "", app.ReasonExpired), ReplyCode: anyOf(r, 0, 250, 421, 450, 552, 554, -1),
			EnhancedCode: anyOf(r, "", "5.1.1", "4.4.1", "5.7.26", "5.", ".", "9.9.9", "5.6.7"), Reply: anyOf(r, "", "{x", "]", "spam", strings.Repeat("ü", 200)), Stage: anyOf(r, stages...),
			Source: anyOf(r, "", "ses"), BounceSubType: anyOf(r, "", "NoEmail", "x"), Diagnostic: anyOf(r, "", "[", "dmarc"), NextAttemptAt: anyOf(r, "", "2026")}
	}
	for i := range r.IntN(6) {
		f.Events = append(f.Events, facts(anyOf(r, kinds...), anyOf(r, append(addresses, "")...), i, detail()))
	}
	if r.IntN(3) > 0 {
		f.Work = &Work{Wait: anyOf(r, "", WaitTurn, WaitReply, WaitTime, WaitRetry, WaitRelease, WaitQuota, WaitPace, WaitBlocked, "x"), NextAt: anyOf(r, time.Time{}, noon),
			Held: anyOf(r, "", app.HoldDamaged, app.HoldManual, app.HoldPaused, app.HoldRestored), Attempts: r.IntN(3),
			Blocker: Blocker{Kind: anyOf(r, "", Suspended, NoRelay, NoRegion, Paused, BreakerOpen, LimitReached, TeamGuardrail, RelayGuardrail, "x"), Reason: anyOf(r, "", "x"),
				Trouble: app.RelayTrouble{TeamID: anyOf(r, "", "t"), Domain: anyOf(r, "", "d"), Detail: detail()}}}
	}
	return f
}

func TestAnyFactsHaveSentence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f := anyFacts(r)
		v := Of(&f)
		isSentence(t, &v)
		if t.Failed() {
			t.Fatalf("of %+v", f)
		}
		again := Of(&f)
		if again.Text != v.Text || again.Fix != v.Fix {
			t.Fatalf("%q, then %q", v.Text, again.Text)
		}
	}
}

// isSentence is isSound without the checks that quoted text can violate.
func isSentence(t *testing.T, v *Verdict) {
	t.Helper()
	all := []VerdictPart{{v.Code, v.Tone, v.Text, v.Fix, v.Params}}
	for _, p := range append(all, v.Parts...) {
		if templates[p.Code] == nil || p.Text == "" || p.Fix == "" || !slices.Contains([]Tone{Good, Neutral, Warn, Bad}, p.Tone) {
			t.Errorf("%+v", p)
		}
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
}
