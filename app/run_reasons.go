package app

// Sentence returns a reason for people; empty for none.
func (r RunReason) Sentence() string {
	if r == "" {
		return ""
	}
	if text, ok := runReasons[r]; ok {
		return text
	}
	return string(r)
}

var runReasons = map[RunReason]string{
	ReasonContactDeletedByStep: "A step of the automation deleted the contact",
	ReasonGoal:                 "The contact met the goal",
	ReasonContactDeleted:       "The contact was deleted",
	ReasonStopped:              "The automation was stopped",
	ReasonAutomationDeleted:    "The automation was deleted",
	ReasonOptedOut:             "The contact has opted out of this mail, and the automation ends then",
	ReasonDropped:              "The operator dropped the run after a restore",
	ReasonNotMoved:             "The step of the run does not exist in the version to which runs were moved",
	ReasonTemplateMissing:      "The template of the step was deleted or is not published",
	ReasonSegmentMissing:       "The segment of the step was deleted",
	ReasonTopicMissing:         "The topic of the step was deleted",
	ReasonWebhookMissing:       "The webhook of the step was deleted",
	ReasonSenderMissing:        "The domain of the sender is not verified",
	ReasonRejected:             "The mail could not be made or accepted; the step says why",
}
