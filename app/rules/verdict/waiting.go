package verdict

import (
	"slices"

	"mailer/app"
)

// waits is why a recipient waits.
func (f *Facts) waits(r *Recipient) end {
	w := f.Work
	if w == nil {
		return end{Unknown, VerdictParams{}}
	}
	p := VerdictParams{Attempts: w.Attempts}
	switch w.Wait {
	case WaitTime, WaitQuota, WaitRetry:
		p.NextAt = stamp(w.NextAt)
	}
	switch w.Wait {
	case WaitTurn:
		return end{Queued, p}
	case WaitReply:
		return end{Leaving, p}
	case WaitTime:
		return end{Scheduled, p}
	case WaitQuota:
		return end{WaitingQuota, p}
	case WaitPace:
		return end{WaitingPace, p}
	case WaitRelease:
		return f.held(r, p)
	case WaitDoor:
		return f.atDoor(p)
	}
	return f.again(r, p)
}

func (f *Facts) held(r *Recipient, p VerdictParams) end {
	p.Since = stamp(f.Work.HeldAt)
	switch f.Work.Held {
	case app.HoldDamaged:
		return end{HeldDamaged, p}
	case app.HoldRestored:
		return end{HeldRestored, p}
	case app.HoldPaused:
		return end{BroadcastPaused, p}
	}
	p.By = actor(f.about(r, app.EventHeld).Detail.Message, "Held by ")
	return end{Held, p}
}

// again is why a recipient waits for another try: what came of the last one. What was
// before it was sent again counts no more.
func (f *Facts) again(r *Recipient, p VerdictParams) end {
	events := f.Events
	if at := slices.IndexFunc(events, func(ev app.Event) bool { return ev.Type == app.EventRequeued }); at >= 0 {
		events = events[:at]
	}
	p.GivesUpAt = stamp(f.Work.GivesUpAt)
	ev := newestOf(events, r, []app.EventType{app.EventDeferred, app.EventInDoubt, app.EventInterrupted})
	p.At = stamp(ev.CreatedAt)
	switch ev.Type {
	case app.EventInDoubt:
		return end{Doubt, p}
	case app.EventInterrupted:
		return end{Interrupted, p}
	case app.EventDeferred:
		p.answered(&ev.Detail)
		code := deferral(&ev.Detail)
		p.Server = f.Relay
		if ofMailbox(&ev.Detail) && domainOf(r.Address) != "" {
			p.Server = domainOf(r.Address)
		}
		return end{code, p}
	}
	return end{WaitingRetry, p}
}

// atDoor is why nothing of somebody leaves.
func (f *Facts) atDoor(p VerdictParams) end {
	d := &f.Work.Door
	switch d.Kind {
	case Suspended:
		p.Since, p.Reason = stamp(d.Since), cut(d.Reason)
		return end{SuspendedTeam, p}
	case NoRelay:
		return end{WaitingNoRelay, p}
	case NoRegion:
		if f.Relay == app.CaptureRegion {
			return end{WaitingCapture, p}
		}
		return end{WaitingNoRegion, p}
	case Paused:
		p.Since, p.Until = stamp(d.Since), stamp(d.Until)
		return end{WaitingRelayPaused, p}
	case TeamGuardrail:
		return end{Guardrails, p}
	case RelayGuardrail:
		return end{GuardrailsRelay, p}
	case Resting, Used:
		return d.troubled(p)
	}
	return end{Queued, p}
}

// troubled is why nothing leaves through a relay that met something.
func (d *Door) troubled(p VerdictParams) end {
	t := &d.Trouble
	p.answered(&t.Detail)
	p.Since, p.NextAt = stamp(t.StartedAt), t.Detail.NextAttemptAt
	switch {
	case d.Kind == Used && t.TeamID != "":
		return end{WaitingRelayShare, p}
	case d.Kind == Used:
		return end{WaitingRelayLimit, p}
	case t.Domain != "":
		return end{PausedDomain, p}
	}
	switch t.Detail.Stage {
	case app.StageConnect, "":
		return end{WaitingRelayDown, p}
	case app.StageTLS:
		return end{WaitingRelayTLS, p}
	case app.StageAuth:
		return end{WaitingRelaySignIn, p}
	}
	return end{WaitingRelayRefuses, p}
}
