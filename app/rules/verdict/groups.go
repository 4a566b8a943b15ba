package verdict

import (
	"cmp"
	"slices"
	"strings"
)

// group is the recipients with the same outcome.
type group struct {
	code     Code
	outcomes []outcome
	first    int // index of the first one in the envelope
}

// grouped groups equal outcomes, worst first.
func grouped(ends []outcome) []group {
	var groups []group
	for i, e := range ends {
		at := slices.IndexFunc(groups, func(g group) bool {
			return g.code == e.code && g.outcomes[0].params.Outcome == e.params.Outcome
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{code: e.code, first: i})
		}
		groups[at].outcomes = append(groups[at].outcomes, e)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(rank[a.code], rank[b.code]) })
	return groups
}

// part returns the sentence about a group: with the values of its first recipient, and the latest
// time.
func (g *group) part() VerdictPart {
	p := g.outcomes[0].params
	p.Count = len(g.outcomes)
	for _, e := range g.outcomes {
		p.At = max(p.At, e.params.At)
	}
	t := templates[g.code]
	return render(t, p)
}

func render(t *Template, p VerdictParams) VerdictPart {
	values := p.values()
	return VerdictPart{Code: t.Code, Tone: t.Tone, Text: fill(t.text(p.Count), values), Fix: fill(t.Fix, values), Params: p}
}

// maxParts is how many outcomes an email's sentence contains.
const maxParts = 3

// mixed returns the verdict on an email with different outcomes: for how many recipients it
// arrived, then the worst other outcomes.
func (f *Facts) mixed(groups []group) Verdict {
	p := VerdictParams{Relay: f.Relay, FromDomain: f.FromDomain, BroadcastID: f.BroadcastID, Total: len(f.Recipients)}
	taken := 0
	for _, g := range groups {
		switch {
		case reached(g.code):
			p.Reached += len(g.outcomes)
		case g.code == Sent:
			taken += len(g.outcomes)
		}
	}
	code := MixedDelivered
	reported := func(c Code) bool { return c == Delivered || c == Opened || c == Clicked || c == Unsubscribed }
	if p.Reached == 0 {
		code, p.Reached = MixedSent, taken
		reported = func(c Code) bool { return c == Sent }
	}
	if p.Reached == 0 {
		code = Mixed
	}
	out := Verdict{Code: code, Tone: Neutral, Params: p}
	out.Text = fill(templates[code].Text, p.values())
	for i := range groups {
		part := groups[i].part()
		out.Tone = worse(out.Tone, part.Tone)
		if !reported(part.Code) && len(out.Parts) < maxParts {
			out.Parts = append(out.Parts, part)
			out.Text += " " + part.Text
		}
	}
	out.Fix = fixOf(out.Parts)
	return out
}

// worse returns the worse of two tones.
func worse(a, b Tone) Tone {
	order := []Tone{Good, Neutral, Warn, Bad}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// nothingToDo begins the fix of outcomes that need no action.
const nothingToDo = "Nothing to do"

// fixOf joins the fixes of several outcomes. Those that need no action are left out if another
// needs one.
func fixOf(parts []VerdictPart) string {
	var fixes, idle []string
	for _, p := range parts {
		switch {
		case strings.HasPrefix(p.Fix, nothingToDo):
			idle = append(idle, p.Fix)
		case !slices.Contains(fixes, p.Fix):
			fixes = append(fixes, p.Fix)
		}
	}
	if len(fixes) == 0 {
		fixes = idle[:min(len(idle), 1)]
	}
	return strings.Join(fixes, " ")
}
