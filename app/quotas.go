package app

// QuotaLevel says how much of a quota is used.
type QuotaLevel int

// The levels at which webhooks are told.
const (
	QuotaFree   QuotaLevel = iota // less than QuotaWarnsAt
	QuotaNear                     // quota.warning
	QuotaIsUsed                   // quota.reached
)
