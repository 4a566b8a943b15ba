package app

// originRank orders what feedback may put in the place of what.
var originRank = map[SuppressionOrigin]int{OriginUnsubscribe: 1, OriginBounce: 2, OriginComplaint: 3, OriginManual: 4}

// GivesWayTo reports whether a suppression of this origin takes the origin of a
// report: one by unsubscribing must block transactional mail too once the
// address bounces or complains, and a complaint says more than a bounce. What
// somebody entered by hand stays.
func (o SuppressionOrigin) GivesWayTo(report SuppressionOrigin) bool {
	return originRank[report] > originRank[o]
}
