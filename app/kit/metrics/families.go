package metrics

// Names of the metric families.
const (
	nameAccepted  = "mailer_emails_accepted_total"
	nameResults   = "mailer_results_total"
	nameWaiting   = "mailer_queue_waiting"
	nameOldest    = "mailer_queue_oldest_seconds"
	nameUp        = "mailer_relay_up"
	nameActive    = "mailer_relay_active"
	nameSwitches  = "mailer_relay_switches_total"
	nameSends     = "mailer_send_seconds"
	nameDoubts    = "mailer_doubts_total"
	nameRequests  = "mailer_http_request_seconds"
	nameCodes     = "mailer_http_requests_total"
	nameAttempts  = "mailer_webhook_attempts_total"
	nameOptIns    = "mailer_opt_ins_total"
	nameReceived  = "mailer_received_emails_total"
	nameReceivedB = "mailer_received_bytes_total"
	nameCommits   = "mailer_commit_seconds"
	nameDB        = "mailer_db_bytes"
	nameWAL       = "mailer_wal_bytes"
	nameImages    = "mailer_images_bytes"
	nameStored    = "mailer_received_stored_bytes"
	nameRuns      = "mailer_automation_runs_open"
	nameDiskFree  = "mailer_disk_free_bytes"
	nameBackupAge = "mailer_backup_age_seconds"
	nameListed    = "mailer_block_listed"
)

// Family describes a metric family to Prometheus.
type Family struct{ Name, Type, Help string }

// Families returns the server's own families. Metrics of the process and the Go runtime are served
// too, under their usual names (process_, go_).
func Families() []Family {
	return []Family{
		{nameAccepted, "counter", "Emails that this process accepted: one for each email of a request, whatever its recipients, and one for each recipient of a broadcast once it is written down."},
		{nameResults, "counter", "Recipients on whom a relay decided, by relay and result: sent, deferred (tried again), bounced (the recipient was refused) or failed (given up)."},
		{nameWaiting, "gauge", "Emails and recipients of broadcasts that wait, by relay and reason."},
		{nameOldest, "gauge", "How long the oldest email waits that could leave if nothing hindered it; 0: none does."},
		{nameUp, "gauge", "1 while the relay takes mail, 0 while it rests or is paused."},
		{nameActive, "gauge", "1 for the relay through which the mail of a region with reserves leaves, 0 for its others."},
		{nameSwitches, "counter", "Switches of a region to another of its relays."},
		{nameSends, "histogram", "Time of a transaction with a relay, up to the reply to its last command; the wait for a connection included."},
		{nameDoubts, "counter", "Transactions whose outcome is unknown: the message is sent again unless a report settles it."},
		{nameRequests, "histogram", "Time from a request's head to the end of its answer, of all requests to the HTTP API."},
		{nameCodes, "counter", "Answered requests to the HTTP API, by the class of their status: 2xx, 3xx, 4xx or 5xx."},
		{nameAttempts, "counter", "Attempts to tell a webhook something, by result: success or failed."},
		{nameOptIns, "counter", "Opt-ins, by result: requested, stopped (not stored, above the limits of a form), sent (a confirmation), confirmed, refused or expired."},
		{nameReceived, "counter", "Mail of other servers, by result: stored, or refused because of unknown (the recipient), not_now (its domain is not set up), full, busy, malformed, incomplete or failed."},
		{nameReceivedB, "counter", "Bytes of mail of other servers that was stored."},
		{nameCommits, "histogram", "Time of a commit, from the first statement of its group to its being on disk."},
		{nameDB, "gauge", "Size of the database's file."},
		{nameWAL, "gauge", "Size of the database's write-ahead log."},
		{nameRuns, "gauge", "Open runs of automations of all teams."},
		{nameImages, "gauge", "Size of the images of all teams, within the database."},
		{nameStored, "gauge", "About the size of the received mail of all teams, within the database."},
		{nameDiskFree, "gauge", "Free space on the disk of the database, for its user."},
		{nameBackupAge, "gauge", "Time since the last backup; missing where none was made."},
		{nameListed, "gauge", "1 for an address that mail leaves from and that is on the block list, 0 if it is not; missing where the list gave no answer."},
	}
}
