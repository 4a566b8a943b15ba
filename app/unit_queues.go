package app

import (
	"cmp"
	"strings"
)

// A unit waits in the queue of its region, and leaves through the relay that is active there. It
// waits in another queue if a relay is fixed: in that of one relay, for a unit that may have left
// through it and for a strict route, or in that of a route, which another relay may take over.
const (
	onlyRelay   = "@"
	routedRelay = ">"
)

// OnlyQueue returns the queue of units that leave through one relay of a region.
func OnlyQueue(region, relay string) string { return region + onlyRelay + relay }

// RoutedQueue returns the queue of units that leave through one relay of a region while it can be
// used, and through the active one otherwise.
func RoutedQueue(region, relay string) string { return region + routedRelay + relay }

// IsRouted reports whether a queue is that of a route that another relay may take over.
func IsRouted(queue string) bool { return strings.Contains(queue, routedRelay) }

// QueueRegion returns the region of a queue.
func QueueRegion(queue string) string {
	if i := strings.IndexAny(queue, onlyRelay+routedRelay); i >= 0 {
		return queue[:i]
	}
	return queue
}

// QueueRelay returns the relay that is fixed for a queue; empty: the active relay of the region.
func QueueRelay(queue string) string {
	if i := strings.IndexAny(queue, onlyRelay+routedRelay); i >= 0 {
		return queue[i+1:]
	}
	return ""
}

// FixedRelay returns the only relay through which the units of a queue leave; empty: another one may
// take over.
func FixedRelay(queue string) string {
	if i := strings.Index(queue, onlyRelay); i >= 0 {
		return queue[i+1:]
	}
	return ""
}

// QueueName returns the name of a queue for people: the relay that is fixed for it, or its region.
func QueueName(queue string) string { return cmp.Or(QueueRelay(queue), queue) }

// ShortRelay returns the name of a relay without its region, where the region is named beside it.
func ShortRelay(relay string) string {
	_, name, ok := strings.Cut(relay, "/")
	if !ok {
		return relay
	}
	return name
}

// SwitchesOf returns the name under which the switches of a region are stored among the troubles of
// relays. It is no relay's name, so that a switch keeps no mail waiting.
func SwitchesOf(region string) string { return region + "!" }
