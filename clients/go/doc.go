// Package keyrail verifies the API keys of your customers with Keyrail, in memory.
//
// A process holds the keys of one project and follows their changes, so that Verify makes no call. Open
// starts it:
//
//	keys, err := keyrail.Open(keyrail.Options{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer keys.Close(context.Background())
//	http.ListenAndServe(":8080", keys.Protect(api, keyrail.Scopes("orders:read")))
//
// It fails closed: a key that cannot be judged is refused, and so are all keys once the service has not
// confirmed them for Options.CachedTTL.
//
// The files are named by what they do: options.go reads options; poller.go repeats what sync.go does, which
// brings the store (store.go) to the version of the service; body.go checks each answer; verify.go judges a
// key; limit.go charges limits; usage.go counts requests; protect.go stands before a handler; disk.go keeps a
// copy for the next start. Times inside the package are milliseconds in a float64, as in the files that it
// shares with the SDK for JavaScript.
package keyrail

// Version is the version of this package, which it names to the service.
const Version = "0.1.0"
