package pacing

// MaxBroadcastRecipients is how many numbers there are.
const MaxBroadcastRecipients = 1<<32 - 1
