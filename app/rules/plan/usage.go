package plan

import (
	"time"

	"mailer/app"
)

// Usage is a team's usage of its plan. Quotas count distinct recipients of accepted emails, and
// recipients of broadcasts. Scheduled mail counts on the day it is sent.
type Usage struct {
	Plan     *Plan // nil: a self-hosted server without plans
	Team     app.Team
	Today    int64     // recipients counted on this UTC day
	ResetsAt time.Time // start of the next day
	// Period is the usage in the period of a monthly plan, from Starts to Ends.
	Period       int64
	Starts, Ends time.Time // zero: the plan is not monthly
	AppURL       string    // base URL of this server
}
