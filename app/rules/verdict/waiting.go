package verdict

import (
	"slices"

	"mailer/app"
)

// waits returns why a recipient waits.
func (f *Facts) waits(r *Recipient) outcome {
	w := f.Work
	if w == nil {
		return outcome{Unknown, VerdictParams{}}
	}
	p := VerdictParams{Attempts: w.Attempts}
	switch w.Wait {
	case WaitTime, WaitQuota, WaitRetry:
		p.NextAt = stamp(w.NextAt)
	}
	if f.Kept && (w.Wait == WaitTurn || w.Wait == WaitBlocked) && f.lastTry(r).Type == app.EventInDoubt {
		return f.again(r, p)
	}
	switch w.Wait {
	case WaitTurn:
		return outcome{Queued, p}
	case WaitReply:
		return outcome{Leaving, p}
	case WaitTime:
		return outcome{Scheduled, p}
	case WaitQuota:
		return outcome{WaitingQuota, p}
	case WaitPace:
		return outcome{WaitingPace, p}
	case WaitRelease:
		return f.held(r, p)
	case WaitBlocked:
		return f.blocked(p)
	}
	return f.again(r, p)
}

func (f *Facts) held(r *Recipient, p VerdictParams) outcome {
	p.Since = stamp(f.Work.HeldAt)
	switch f.Work.Held {
	case app.HoldDamaged:
		return outcome{HeldDamaged, p}
	case app.HoldRestored:
		return outcome{HeldRestored, p}
	case app.HoldPaused:
		return outcome{BroadcastPaused, p}
	}
	p.By = actor(f.eventOf(r, app.EventHeld).Detail.Message, "Held by ")
	return outcome{Held, p}
}

// again returns the outcome of a recipient that waits for another attempt: the result of the last.
func (f *Facts) again(r *Recipient, p VerdictParams) outcome {
	p.GivesUpAt = stamp(f.Work.GivesUpAt)
	ev := f.lastTry(r)
	p.At = stamp(ev.CreatedAt)
	switch ev.Type {
	case app.EventInDoubt:
		if f.Kept {
			p.Kept = f.Relay
		}
		return outcome{Doubt, p}
	case app.EventInterrupted:
		return outcome{Interrupted, p}
	case app.EventDeferred:
		p.setAnswer(&ev.Detail)
		code := deferral(&ev.Detail)
		p.Server = f.Relay
		if ofMailbox(&ev.Detail) && domainOf(r.Address) != "" {
			p.Server = domainOf(r.Address)
		}
		return outcome{code, p}
	}
	return outcome{WaitingRetry, p}
}

// lastTry returns the result of the last attempt since the email was queued, or queued again.
func (f *Facts) lastTry(r *Recipient) app.Event {
	events := f.Events
	if at := slices.IndexFunc(events, func(ev app.Event) bool { return ev.Type == app.EventRequeued }); at >= 0 {
		events = events[:at]
	}
	return newestOf(events, r, []app.EventType{app.EventDeferred, app.EventInDoubt, app.EventInterrupted})
}

// blocked returns why nothing of the sender is sent.
func (f *Facts) blocked(p VerdictParams) outcome {
	d := &f.Work.Blocker
	switch d.Kind {
	case Suspended:
		p.Since, p.Reason = stamp(d.Since), cut(d.Reason)
		return outcome{SuspendedTeam, p}
	case NoRelay:
		return outcome{WaitingNoRelay, p}
	case NoRegion:
		if f.Relay == app.CaptureRegion {
			return outcome{WaitingCapture, p}
		}
		return outcome{WaitingNoRegion, p}
	case Paused:
		p.Since, p.Until = stamp(d.Since), stamp(d.Until)
		return outcome{WaitingRelayPaused, p}
	case Unaligned:
		return outcome{WaitingAlignment, p}
	case TeamGuardrail:
		return outcome{Guardrails, p}
	case RelayGuardrail:
		return outcome{GuardrailsRelay, p}
	case BreakerOpen, LimitReached:
		return d.relayTrouble(p)
	}
	return outcome{Queued, p}
}

// relayTrouble returns why nothing is sent through a relay with a problem.
func (d *Blocker) relayTrouble(p VerdictParams) outcome {
	t := &d.Trouble
	p.setAnswer(&t.Detail)
	p.Since, p.NextAt = stamp(t.StartedAt), t.Detail.NextAttemptAt
	switch {
	case d.Kind == LimitReached && t.TeamID != "":
		return outcome{WaitingRelayShare, p}
	case d.Kind == LimitReached:
		return outcome{WaitingRelayLimit, p}
	case t.Domain != "":
		return outcome{PausedDomain, p}
	}
	switch t.Detail.Stage {
	case app.StageConnect, "":
		return outcome{WaitingRelayDown, p}
	case app.StageTLS:
		return outcome{WaitingRelayTLS, p}
	case app.StageAuth:
		return outcome{WaitingRelaySignIn, p}
	}
	return outcome{WaitingRelayRefuses, p}
}
