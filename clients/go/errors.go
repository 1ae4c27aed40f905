package keyrail

import (
	"fmt"
	"time"
)

// An Error is an error between this process and the service. It never holds the secret key.
type Error struct {
	// Code is a code of this package (such as timeout, network_error, bad_response), a code of the service,
	// or http_ and the status of an answer without one.
	Code    string
	Message string
	// Status is the HTTP status; 0 if the service did not answer.
	Status int
	// RequestID is the service's id of the request, for its log. May be empty.
	RequestID string
	// DocURL is the page about the code, as the service names it. May be empty.
	DocURL string
	// Retryable says whether the same request may succeed later without any change.
	Retryable bool
	// RetryAfter is how long the service asked to wait; 0 if it did not.
	RetryAfter time.Duration
}

// Error returns the message.
func (e *Error) Error() string { return "keyrail: " + e.Message }

// passing makes an error that may be over at the next attempt.
func passing(code, message string) *Error {
	return &Error{Code: code, Message: message, Retryable: true}
}

// lasting makes an error that stays until something is changed.
func lasting(code, message string) *Error { return &Error{Code: code, Message: message} }

// badResponse is about an answer that violates the contract of the feed. Nothing of it was applied.
func badResponse(what string) *Error {
	return passing("bad_response", "The answer is not a valid answer of the policy feed: "+what)
}

func closedError() *Error { return lasting("closed", "The keys were closed") }

func tooManyKeys(maxKeys int, refusedToStart bool) *Error {
	return &Error{
		Code: "policy_scope_too_large",
		Message: fmt.Sprintf("There are more than %d keys, the most this node may hold: "+
			"narrow it with Tenants, or raise MaxKeys", maxKeys),
		Retryable: !refusedToStart,
	}
}

// isOutage says whether the service was unavailable. A refusal, as for a revoked secret key, is no outage.
func isOutage(err *Error) bool { return err != nil && err.Retryable }
