// Package automations implements the API's routes of automations, their runs, and custom events.
// Only web imports it.
//
// Failure policy: that of web/rest.
package automations
