package app

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of automations and custom events.
const (
	MaxAutomations       = 1000 // of a team
	MaxAutomationName    = 200  // characters
	MaxAutomationSteps   = 150
	MaxStepKey           = 100       // characters
	MaxStepConfig        = 64 << 10  // bytes of JSON
	MaxAutomationSize    = 1 << 20   // bytes of JSON of all steps and connections
	MaxConditionDepth    = 10        // nested and, or
	MaxConditionRules    = 100       // of one condition
	MaxDelayDays         = 365       // of a delay, a timeout and a re-entry
	MaxCustomEvents      = 1000      // of a team
	MaxEventName         = 100       // characters
	MaxEventFields       = 100       // of a schema
	MaxEventPayload      = 64 << 10  // bytes of JSON
	MaxOpenRuns          = 1_000_000 // of a team without a plan
	MaxFreeOpenRuns      = 1000      // of a team on the plan Free
	MaxServerOpenRuns    = 5_000_000 // of a server
	MaxChain             = 10        // automations that led to the start of another
	MaxDailyStarts       = 3         // of one automation for one contact in 24 hours
	MaxDailyStartsAlways = 10        // the same with the re-entry always
	MaxScheduledStarts   = 1         // a day, of the trigger mailer:schedule
)

// AutomationStatus says whether an automation starts runs.
type AutomationStatus string

// The statuses of an automation. Runs of a disabled automation go on.
const (
	AutomationEnabled  AutomationStatus = "enabled"
	AutomationDisabled AutomationStatus = "disabled"
)

// Automation is a flow of steps that runs for contacts, one run for each start.
type Automation struct {
	ID      string
	TeamID  string
	Name    string
	Status  AutomationStatus
	Version int64 // of Flow; counts its changes, from 1
	Flow    AutomationFlow
	Held    string // reason why starts by date and schedule are held: imported or restored; empty: they are not
	// NextAt is when the triggers mailer:schedule and mailer:date start runs next; zero: another trigger, or disabled.
	NextAt    time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// AutomationFlow is one version of what an automation does. Package rules/automation checks and runs it.
type AutomationFlow struct {
	Steps       []AutomationStep       `json:"steps"`
	Connections []AutomationConnection `json:"connections"`
	AutomationSettings
}

// AutomationSettings apply to all steps.
type AutomationSettings struct {
	ReEntry      ReEntry `json:"re_entry,omitzero"`        // the zero value: once
	TopicID      string  `json:"topic_id,omitzero"`        // of the mails of all steps that name none; empty: none
	ExitOnOptOut bool    `json:"exit_on_opt_out,omitzero"` // a mail that is skipped because of an opt-out ends the run
}

// ReEntry says when an automation starts again for a contact.
type ReEntry struct {
	Mode  ReEntryMode `json:"mode"`
	Field string      `json:"field,omitzero"` // of the event, with the mode once_per_event_key
	Days  int         `json:"days,omitzero"`  // with the mode after_days
}

// ReEntryMode is the mode of a ReEntry.
type ReEntryMode string

// The modes of ReEntry. The empty mode is ReEnterOnce.
const (
	ReEnterOnce      ReEntryMode = "once"
	ReEnterPerKey    ReEntryMode = "once_per_event_key"
	ReEnterAfterDays ReEntryMode = "after_days"
	ReEnterAlways    ReEntryMode = "always"
)

// AutomationStep is one step of a flow. Its configuration depends on the type: see the Config types of
// package rules/automation.
type AutomationStep struct {
	Key    string         `json:"key"`
	Type   StepType       `json:"type"`
	Config jsontext.Value `json:"config"`
}

// StepType is the type of a step.
type StepType string

// The types of steps. The last six are Mailer's own.
const (
	StepTrigger       StepType = "trigger"
	StepSendEmail     StepType = "send_email"
	StepDelay         StepType = "delay"
	StepWaitForEvent  StepType = "wait_for_event"
	StepCondition     StepType = "condition"
	StepContactUpdate StepType = "contact_update"
	StepContactDelete StepType = "contact_delete"
	StepAddToSegment  StepType = "add_to_segment"

	StepRemoveFromSegment StepType = "remove_from_segment"
	StepSetTopic          StepType = "set_topic"
	StepWebhook           StepType = "webhook"
	StepSplit             StepType = "split"
	StepWaitUntil         StepType = "wait_until"
	StepGoal              StepType = "goal"
)

// StepTypes are all types of steps.
var StepTypes = []StepType{StepTrigger, StepSendEmail, StepDelay, StepWaitForEvent, StepCondition, StepContactUpdate, StepContactDelete, StepAddToSegment,
	StepRemoveFromSegment, StepSetTopic, StepWebhook, StepSplit, StepWaitUntil, StepGoal}

// AutomationConnection leads from one step to another.
type AutomationConnection struct {
	From string         `json:"from"`
	To   string         `json:"to"`
	Type ConnectionType `json:"type,omitzero"`
}

// ConnectionType says which outcome of a step a connection belongs to.
type ConnectionType string

// The types of connections. Condition and split leave by condition_met and condition_not_met,
// wait_for_event by event_received and timeout, all other steps by default.
const (
	ConnectDefault         ConnectionType = "default"
	ConnectConditionMet    ConnectionType = "condition_met"
	ConnectConditionNotMet ConnectionType = "condition_not_met"
	ConnectTimeout         ConnectionType = "timeout"
	ConnectEventReceived   ConnectionType = "event_received"
)

// The triggers that are events of Mailer itself. Names of custom events can't begin with mailer: or resend:.
const (
	TriggerContactCreated = "mailer:contact.created"
	TriggerOptIn          = "mailer:contact.opt_in" // into a topic
	TriggerSegmentJoined  = "mailer:segment.joined"
	TriggerEmailOpened    = "mailer:email.opened"
	TriggerEmailClicked   = "mailer:email.clicked"
	TriggerEmailReplied   = "mailer:email.replied"
	TriggerDate           = "mailer:date"
	TriggerSchedule       = "mailer:schedule"
)

// Triggers are the triggers that are events of Mailer itself.
var Triggers = []string{TriggerContactCreated, TriggerOptIn, TriggerSegmentJoined, TriggerEmailOpened, TriggerEmailClicked, TriggerEmailReplied, TriggerDate, TriggerSchedule}

// RunStatus is the status of a run.
type RunStatus string

// The statuses of a run.
const (
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// RunStatuses are all statuses of a run.
var RunStatuses = []RunStatus{RunRunning, RunCompleted, RunFailed, RunCancelled}

// StepStatus is the status of a step in a run.
type StepStatus string

// The statuses of a step in a run. A step that was not reached has no record and is shown as pending.
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running" // its effect is being made, or waits for a quota
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepSkipped   StepStatus = "skipped"
	StepWaiting   StepStatus = "waiting" // for a time or an event
)

// Run is the way of one contact through one version of an automation.
type Run struct {
	ID           string
	TeamID       string
	AutomationID string
	Version      int64
	ContactID    string
	Status       RunStatus
	Held         HoldReason // empty: not held. HoldRestored after a restore
	StepKey      string     // at which it is, or at which it ended
	StepN        int64      // number of that step among those that the run reached, from 1
	// DueAt is when the step is executed or its wait ends; zero: never, because it waits for an event
	// without a timeout or is not running.
	DueAt    time.Time
	Sends    bool      // the step sends an email
	WaitsFor string    // name of the event that the step waits for; empty: none
	Since    time.Time // when the wait for the event began: an event before then does not end it
	Context  RunContext
	Reason   RunReason // why it ended; empty: it reached the end or is running
	Ending   RunReason // why a running run does nothing any more and will be ended; empty: it continues
	// CreatedAt is when the event arrived that started the run.
	CreatedAt   time.Time
	StartedAt   time.Time
	CompletedAt time.Time // zero: running
}

// RunContext is what the steps of a run can use beside the contact.
type RunContext struct {
	Event     jsontext.Value            `json:"event,omitzero"`    // payload of the event that started the run: a JSON object
	Received  map[string]jsontext.Value `json:"received,omitzero"` // payloads of events that steps waited for, by step key
	EventName string                    `json:"event_name,omitzero"`
	Chain     []string                  `json:"chain,omitzero"` // ids of the automations that led to this run, the first one first
}

// RunReason says why a run ended, in stable words of which people see a sentence.
type RunReason string

// The reasons.
const (
	ReasonContactDeletedByStep RunReason = "contact_delete"     // completed
	ReasonGoal                 RunReason = "goal"               // completed
	ReasonContactDeleted       RunReason = "contact_deleted"    // cancelled
	ReasonStopped              RunReason = "stopped"            // cancelled
	ReasonAutomationDeleted    RunReason = "automation_deleted" // cancelled
	ReasonOptedOut             RunReason = "opted_out"          // cancelled: exit_on_opt_out
	ReasonDropped              RunReason = "dropped"            // cancelled: by the operator, after a restore
	ReasonLoop                 RunReason = "loop"               // cancelled: it did not start
	ReasonNotMoved             RunReason = "not_moved"          // cancelled: its step does not exist in the version that runs were moved to
	ReasonTemplateMissing      RunReason = "template_missing"   // failed, as the next ones
	ReasonSegmentMissing       RunReason = "segment_missing"
	ReasonTopicMissing         RunReason = "topic_missing"
	ReasonWebhookMissing       RunReason = "webhook_missing"
	ReasonSenderMissing        RunReason = "sender_not_verified"
	ReasonRejected             RunReason = "rejected" // the mail can't be made or accepted
)

// RunStep is the record of a step that a run reached.
type RunStep struct {
	RunID       string
	N           int64 // from 1, in the order in which the run reached the steps
	Key         string
	Type        StepType
	Status      StepStatus
	StartedAt   time.Time
	CompletedAt time.Time      // zero: not yet
	Output      jsontext.Value // a JSON object; nil: none
	Error       jsontext.Value // a JSON object with message and code; nil: none
}

// CustomEvent is an event that a team declared.
type CustomEvent struct {
	ID        string
	TeamID    string
	Name      string
	Schema    map[string]EventFieldType // nil: any payload
	CreatedAt time.Time
	UpdatedAt time.Time // zero: never
}

// EventFieldType is the type of a member of an event's payload.
type EventFieldType string

// The types of the members of a payload.
const (
	EventString  EventFieldType = "string"
	EventNumber  EventFieldType = "number"
	EventBoolean EventFieldType = "boolean"
	EventDate    EventFieldType = "date"
)

// Signal is something that happened to a contact, for which automations may listen.
type Signal struct {
	ID        string
	TeamID    string
	ContactID string
	Name      string         // of a custom event, or one of Triggers
	Payload   jsontext.Value // a JSON object; nil: none
	Chain     []string       // ids of the automations that led to it, the first one first
	CreatedAt time.Time
	Taken     bool // it has started and continued what it could
}
