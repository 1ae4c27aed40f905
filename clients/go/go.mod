module github.com/keyrail/keyrail/clients/go

go 1.19
