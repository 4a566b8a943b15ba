package automation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// Clock formats times of sentences for people: relative to now, in a zone.
type Clock struct {
	Now  time.Time
	Zone *time.Location
}

// days returns how many midnights lie between now and a time; negative: it is before today.
func (c Clock) days(t time.Time) int {
	midnight := func(t time.Time) time.Time {
		y, m, d := t.In(c.Zone).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return int(midnight(t).Sub(midnight(c.Now)) / (24 * time.Hour))
}

// Day returns the day of a time, like "today", "Monday" or "3 June 2026". Names of days of the week are those
// of the last and the next six days.
func (c Clock) Day(t time.Time) string {
	switch n := c.days(t); {
	case n == 0:
		return "today"
	case n == 1:
		return "tomorrow"
	case n == -1:
		return "yesterday"
	case -7 < n && n < 7:
		return t.In(c.Zone).Weekday().String()
	}
	return t.In(c.Zone).Format("2 January 2006")
}

// At returns a time as part of a sentence, like "tomorrow 09:00" or "on Monday 09:00".
func (c Clock) At(t time.Time) string {
	if n := c.days(t); -2 < n && n < 2 {
		return c.Day(t) + t.In(c.Zone).Format(" 15:04")
	}
	return "on " + c.Time(t)
}

// Time returns a time without a preposition, like "tomorrow 09:00" or "Monday 09:00".
func (c Clock) Time(t time.Time) string { return c.Day(t) + t.In(c.Zone).Format(" 15:04") }

// zoned returns a sentence with the name of the zone if the sentence holds an hour.
func (c Clock) zoned(sentence string) string {
	for i := range sentence {
		if i >= 2 && i+3 <= len(sentence) && sentence[i] == ':' && isNumber(sentence[i-2:i]) && isNumber(sentence[i+1:i+3]) {
			return sentence + " (" + c.Zone.String() + ")"
		}
	}
	return sentence
}

// reaches reports whether a step can follow another one, or is it.
func (f *Flow) reaches(from, to *Step) bool {
	reached := map[string]bool{}
	f.reach(from, reached)
	return to != nil && reached[to.Key]
}

// nextMail returns whether a step that waits is followed by a mail, whatever happens: between both are only
// steps that neither wait nor branch. ends: it is the last one that does anything.
func (f *Flow) nextMail(s *Step) (mails, ends bool) {
	for {
		by := outcomes(s.Type)
		if len(by) != 1 {
			return false, false
		}
		s = f.Next(s, by[0])
		switch {
		case s == nil:
			return false, true
		case s.Type == app.StepSendEmail:
			return true, false
		case s.Type == app.StepDelay || s.Type == app.StepWaitUntil:
			return false, false
		}
	}
}

// RunSentence says where a running contact is, like "In Welcome since Monday, next mail tomorrow 09:00
// (Europe/Berlin)", or how its run ended. flow is the version of the run; nil: not known.
func RunSentence(name string, run *app.Run, flow *Flow, c Clock) string {
	if run.Status != app.RunRunning {
		return c.zoned(fmt.Sprintf("In %s from %s to %s: %s", name, c.Day(run.StartedAt), c.Day(run.CompletedAt), ended(run)))
	}
	return c.zoned(fmt.Sprintf("In %s since %s, %s", name, c.Day(run.StartedAt), position(run, flow, c)))
}

// position says at which step a running run is, and until when.
func position(run *app.Run, flow *Flow, c Clock) string {
	var step *Step
	if flow != nil {
		step = flow.Step(run.StepKey)
	}
	switch {
	case run.Held != "":
		return fmt.Sprintf("held at step %q (%s)", run.StepKey, run.Held)
	case step == nil:
		return fmt.Sprintf("at step %q", run.StepKey)
	case step.Type == app.StepSendEmail && !run.DueAt.After(c.Now):
		return fmt.Sprintf("next mail now: step %q is due and waits for its turn", step.Key)
	case step.Type == app.StepSendEmail:
		return fmt.Sprintf("next mail %s", c.At(run.DueAt))
	case run.WaitsFor != "" && run.DueAt.IsZero():
		return fmt.Sprintf("waits for the event %q", run.WaitsFor)
	case run.WaitsFor != "":
		return fmt.Sprintf("waits for the event %q until %s", run.WaitsFor, c.Time(run.DueAt))
	case run.DueAt.IsZero():
		return fmt.Sprintf("at step %q", step.Key)
	}
	switch mails, ends := flow.nextMail(step); {
	case mails && !run.DueAt.After(c.Now):
		return "next mail now: it is due and waits for its turn"
	case mails:
		return "next mail " + c.At(run.DueAt)
	case ends:
		return "ends " + c.At(run.DueAt)
	}
	return "next step " + c.At(run.DueAt)
}

// ended says how a run ended.
func ended(run *app.Run) string {
	switch run.Status {
	case app.RunFailed:
		return fmt.Sprintf("failed at step %q, because %s", run.StepKey, Cause(run.Reason))
	case app.RunCancelled:
		return fmt.Sprintf("cancelled at step %q, because %s", run.StepKey, Cause(run.Reason))
	}
	if run.Reason != "" {
		return "completed, because " + Cause(run.Reason)
	}
	return "completed"
}

// Cause returns why a run ended as a clause after "because"; "it reached the end" for the empty reason.
func Cause(r app.RunReason) string {
	if text, ok := causes[r]; ok {
		return text
	}
	return string(r)
}

var causes = map[app.RunReason]string{
	"":                             "it reached the end",
	app.ReasonContactDeletedByStep: "the step deleted the contact",
	app.ReasonGoal:                 "its goal was met",
	app.ReasonContactDeleted:       "the contact was deleted",
	app.ReasonStopped:              "the automation was stopped",
	app.ReasonAutomationDeleted:    "the automation was deleted",
	app.ReasonOptedOut:             "the contact has no consent to its mail, and exit_on_opt_out is set",
	app.ReasonDropped:              "the operator dropped it after a restore",
	app.ReasonLoop:                 "it would have been a loop: too many starts within 24 hours, or too many automations that start each other",
	app.ReasonNotMoved:             "the version that runs were moved to does not have its step",
	app.ReasonTemplateMissing:      "the template was deleted or is not published",
	app.ReasonSegmentMissing:       "the segment was deleted",
	app.ReasonTopicMissing:         "the topic was deleted",
	app.ReasonWebhookMissing:       "the webhook was deleted",
	app.ReasonSenderMissing:        "the domain of the sender is not verified",
	app.ReasonRejected:             "the step could not be executed",
}

// describe names the comparison that decided a rule, like `plan was "free"`; empty: the values that are known
// now do not lead to the same result.
func (r *Rule) describe(v *Values, met bool) string {
	if r.Met(v) != met {
		return ""
	}
	if r.Type == "and" || r.Type == "or" {
		i := slices.IndexFunc(r.Rules, func(inner Rule) bool { return inner.Met(v) == met })
		return r.Rules[i].describe(v, met)
	}
	_, member, _ := strings.Cut(strings.TrimPrefix(r.Field, "wait_"), ".")
	member = strings.TrimPrefix(member, "properties.")
	value, ok := v.Lookup(r.Field)
	switch value := value.(type) {
	case string:
		if value == "" {
			return member + " was empty"
		}
		return fmt.Sprintf("%s was %q", member, app.CutText(value, maxShownValue))
	case float64, bool:
		return fmt.Sprintf("%s was %s", member, textOf(value))
	case nil:
		if !ok {
			return member + " was not there"
		}
		return member + " was null"
	}
	return fmt.Sprintf("of the value of %s", member)
}

// maxShownValue bounds a value in a sentence, in bytes.
const maxShownValue = 100
