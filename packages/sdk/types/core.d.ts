type Paging = {
	limit?: number;
/** The `nextCursor` of the previous page. */
	cursor?: string;
};
/** Any JSON object: at most 64 KiB, at most 256 members per level. */
type Meta$1 = {
	[name: string]: unknown;
};
type Env = "live" | "test";
type AuditAction = "workspace.created" | "workspace.updated" | "project.created" | "project.updated" | "project.deleted" | "tenant.created" | "tenant.updated" | "tenant.deleted" | "tenant.embed_tokens_revoked" | "tenant.suspended" | "tenant.resumed" | "api_key.created" | "api_key.imported" | "api_key.updated" | "api_key.rotated" | "api_key.revoked" | "api_key.disabled" | "api_key.enabled" | "api_key.ended_deleted" | "api_key.exported" | "secret_key.created" | "secret_key.updated" | "secret_key.rotated" | "secret_key.revoked" | "secret_key.ended_deleted" | "workspace_member.joined" | "workspace_member.role_changed" | "workspace_member.removed" | "workspace_invite.created" | "workspace_invite.revoked" | "session.revoked";
type AuditChain = {
	object: "audit_chain";
	valid: boolean;
/** Rows that verify, counted from the first. */
	checked: number;
	firstBadSeq: number | null;
	reason: "hash_mismatch" | "gap" | "head_mismatch" | null;
	headSeq: number | null;
	headHash: string | null;
/** The head as a signed note (C2SP), if the chain verifies. Keep it: it proves a later rewrite. Its key is at `/.well-known/audit-checkpoint-key`. */
	checkpoint: string | null;
};
type AuditExport = {
	afterSeq?: number;
};
type AuditLog = {
	object: "audit_log";
/** The seq, as a string. */
	id: string;
	seq: number;
	workspaceId: string;
	action: AuditAction;
	actorType: "user" | "secret_key" | "embed_token" | "bootstrap" | "codehost" | "operator" | "system";
	actorId: string | null;
/** The person, if the actor is one and the account still exists. */
	actor?: {
		email: string;
		name: string | null;
	};
/** The secret key by its present name, if the actor is one and the workspace still has it. Not in exports. */
	actorSecretKey?: {
		name: string | null;
		displayPrefix: string;
	};
/** The tenant of the embed token, if the actor is one and the changed key still exists. Not in exports. */
	actorTenant?: {
		id: string;
		externalId: string;
		name: string | null;
	};
/** The address from which the change was made, as the trusted proxies report it. For owners, until it is erased. */
	ip?: string;
	targetType: "workspace" | "project" | "tenant" | "api_key" | "secret_key" | "workspace_member" | "workspace_invite" | "session";
	targetId: string;
	env: "live" | "test" | null;
	payload: {
		[name: string]: unknown;
	} | null;
	prevHash: string;
	hash: string;
	createdAt: string;
};
type AuditLogList = Paging & {
	/** Only rows after this one. Not with `order=desc`. */afterSeq?: number;
/** Only rows before this one. Needs `order=desc`. */
	beforeSeq?: number;
/** `asc`: oldest first. `desc`: newest first. */
	order?: "asc" | "desc";
	action?: AuditAction;
/** The id of who acted. */
	actorId?: string;
/** The id of the changed object, which may be deleted since. */
	targetId?: string;
/** Only rows of this time and later. */
	createdAfter?: string;
/** Only rows before this time. */
	createdBefore?: string;
/** Leaves out rows that have no environment. */
	env?: Env;
};
type BillingUsage = {
	object: "billing_usage";
	data: ({
		/** The first day of the month, in UTC. */month: string;
		billableTenants: number;
	})[];
};
type BillingUsageQuery = {
	months?: number;
};
type BulkFailure = {
	keyId: string;
	code: "not_found" | "key_not_active";
};
type BulkOperation = {
	object: "bulk_operation";
	id: string;
	action: "revoke" | "disable" | "enable";
	status: "running" | "done";
/** Ids of the call, or keys that the filter matched. */
	matched: number;
/** Keys that are now as asked for. */
	done: number;
	failed: number;
	failures: BulkFailure[];
	finishedAt: string | null;
	createdAt: string;
};
type BulkPropagation = {
	acknowledged: boolean;
/** A node that follows several of the projects counts for each. */
	nodes: number;
	nodesAcknowledged: number;
	pending: string[];
	waitedMs: number;
/** `nodesUnknown`: as for one key. `tooManyProjects`: keys of more than 200 projects changed, so their nodes are not counted. */
	reason?: "nodes_unknown" | "too_many_projects";
};
type Cascade = {
	state: "running" | "done";
/** How many secret keys it has revoked. */
	revoked: number;
/** How many secret keys it is still to revoke. */
	remaining: number;
};
type ChangedMember = Member & {
	secretKeys: Descendants;
	cascade: Cascade;
};
type CreatedInvite = Invite & {
	/** The invitation token, only in this answer. A replayed answer does not have it. */token?: string;
};
type CreatedKey = Key & {
	/** The key itself, only in this answer. A replayed answer does not have it: rotate the key then. */key?: string;
};
type CreatedSecretKey = SecretKey & {
	/** The secret key itself, only in this answer. A replayed answer does not have it: rotate the secret key then. */key?: string;
};
type DailyUsage = {
	object: "daily_usage";
	days: number;
/** Reported requests divided by the sample rate, rounded. */
	total: number;
/** Whether a server has counted only a sample. */
	estimated: boolean;
	data: ({
		date: string;
		requestCount: number;
	})[];
};
type DailyUsageQuery = {
	days?: number;
	projectId?: string;
	tenantId?: string;
/** Your id of the tenant. */
	externalId?: string;
	env?: Env;
};
type Refusals = {
	object: "refusals";
	days: number;
	total: number;
	data: ({
		reason: "unknown_key" | "revoked_key" | "disabled_key" | "suspended_tenant" | "expired_key" | "too_old" | "ip_unknown" | "ip_not_allowed" | "insufficient_scope" | "rate_limited";
		count: number;
	})[];
	shadow: {
		/** Both accepted, or both refused. */agreed: number;
/** Refused by the old check, and accepted by the keyring. */
		accepted: number;
/** Accepted by the old check, and refused by the keyring, by reason, the most first. */
		refused: ({
			reason: "missing_key" | "malformed_key" | "wrong_env" | "not_ready" | "stale" | "not_held" | "unknown_key" | "revoked_key" | "disabled_key" | "suspended_tenant" | "expired_key" | "too_old" | "ip_unknown" | "ip_not_allowed" | "insufficient_scope" | "rate_limited";
			count: number;
		})[];
/** What guards in shadow would have refused, by reason, the most first. What the old check said is not known. */
		guards: ({
			reason: "missing_key" | "malformed_key" | "wrong_env" | "not_ready" | "stale" | "not_held" | "unknown_key" | "revoked_key" | "disabled_key" | "suspended_tenant" | "expired_key" | "too_old" | "ip_unknown" | "ip_not_allowed" | "insufficient_scope" | "rate_limited";
			count: number;
		})[];
	};
};
type RefusalsQuery = {
	days?: number;
	projectId?: string;
	env?: Env;
};
type TopUsage = {
	object: "top_usage";
	by: "tenant" | "project" | "key";
	env: Env;
	days: number;
/** Whether no other has more requests. False where there are too many to read: the rows are right, and others may belong between them. */
	exact: boolean;
	data: ({
		id: string;
		requestCount: number;
		estimated: boolean;
/** By key: what the key is called, and whose it is. Else null. */
		key: {
			name: string | null;
			displayPrefix: string;
			tenantId: string;
			projectId: string;
		} | null;
	})[];
};
type TopUsageQuery = {
	/** What the requests are added up by. */by?: "tenant" | "project" | "key";
	env?: Env;
	days?: number;
	projectId?: string;
	tenantId?: string;
	most?: number;
};
type DeletedProject = {
	object: "project";
	id: string;
	deleted: true;
};
type DeletedTenant = {
	object: "tenant";
	id: string;
	deleted: true;
};
type Descendants = {
	/** How many there are; `data` has the newest 200. */count: number;
	data: SecretKey[];
/** Where `GET /v1/secret_keys` goes on, with `madeBy`, and with `includeRevoked=true` if they were revoked. */
	nextCursor: string | null;
};
type EmbedToken = {
	object: "embed_token";
/** The token itself: a JWT, for one browser of this tenant. */
	token: string;
	expiresAt: string;
	projectId: string;
	tenantId: string;
	env: Env;
	scopes: string[];
	origins: string[];
};
type EmbedTokenCreate = {
	projectId: string;
	env: Env;
	scopes?: string[];
/** Some of the workspace’s `embedOrigins`. Absent: all those registered at the time of each request. */
	origins?: string[];
	tenantId?: string;
	externalId?: string;
/** Creates the tenant if none has this `externalId`. */
	createTenant?: {
		/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name?: string;
	};
};
type EmbedTokensRevoked = {
	object: "embed_tokens_revocation";
	tenantId: string;
	revokedAt: string;
};
type EndedKeysDeleted = {
	object: "ended_keys_deletion";
/** How many keys this call has deleted. */
	deleted: number;
/** Whether to repeat the call: there may be more. */
	hasMore: boolean;
};
type EndedKeysQuery = {
	projectId?: string;
	tenantId?: string;
	env?: Env;
};
type EndedSecretKeysQuery = {
	env?: Env;
};
type FleetNode = {
	node: string;
/** The environments whose keys the node holds. */
	env: "live" | "test" | "both";
/** The version that the node holds. 0: it is fetching its first snapshot. Null for a test credential, since it would reveal changes of live keys. */
	version: number | null;
/** How many versions the project is ahead of the node. Null for a test credential, since it would reveal changes of live keys. */
	behind: number | null;
/** How many keys the node holds. Null: it does not report that. */
	heldKeys: number | null;
/** How many keys the node may hold: `maxAutoCachedKeys` of its keyring. Null: it does not report that. */
	heldKeysMax: number | null;
	seenAt: string;
/** Whether the node was seen within the last 90 s. */
	live: boolean;
};
type Invite = {
	object: "invitation";
	id: string;
	email: string;
	role: Role;
	status: "pending" | "accepted" | "revoked" | "expired";
/** The creator; the invitation ends when the creator loses access. Null: the creator is no longer known, and the invitation ends when any possible creator does. */
	createdBy: {
		type: "user" | "secret_key";
		id: string;
	} | null;
	expiresAt: string;
	createdAt: string;
};
type InviteCreate = {
	email: string;
	role: Role;
};
type InviteList = Paging;
type Key = KeyExample & {
	object: "api_key";
	env: Env;
	scopes: string[];
	meta: Meta$1;
	rateLimits: RateLimit$1[] | null;
/** The networks from which the key may be used: IPv4 or IPv6 ranges, or single addresses. Null: those of its tenant. Empty: any. */
	allowedCidrs: string[] | null;
	revokedAt: string | null;
	revokedReason: string | null;
/** When the key was paused. Null: it is not. */
	disabledAt: string | null;
	disabledReason: string | null;
	disabledBy: "vendor" | "tenant" | null;
	rotatedFrom: string | null;
	rotatedTo: string | null;
/** The id of an imported key where it comes from. */
	sourceId: string | null;
/** When the key came from another system. Null: it was made here. */
	importedAt: string | null;
	updatedAt: string;
};
type KeyCount = {
	object: "key_count";
/** On how many keys the action does something now. */
	count: number;
};
type KeyCountBody = {
	action: "revoke" | "disable" | "enable";
	filter: KeyFilter;
};
type KeyCreate = {
	projectId: string;
	env: Env;
/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */
	name?: string;
	scopes?: string[];
	meta?: Meta$1;
/** Absent: the project default. An empty array: no limits. */
	rateLimits?: RateLimit$1[];
	allowedCidrs?: string[] | null;
	expiresAt?: string;
	tenantId?: string;
	externalId?: string;
};
type KeyExplain = {
	/** What the customer sends. It is not stored or logged. */key: string;
/** The address that the request comes from, IPv4 or IPv6, without a port or brackets. Without it, a key with `allowedCidrs` is refused. */
	ip?: string;
/** Scopes that the request needs, compared exactly. */
	scopes?: string[];
/** Judges the key as of this time, by the times that stand in it now: creation, revocation, pause, suspension and expiry. A pause that has ended, or that yours took the place of, and earlier scopes and networks, are in the audit log; limits are left out. Default: now. */
	at?: string;
};
type KeyExplainQuery = {
	/** The address that the request comes from, IPv4 or IPv6, without a port or brackets. Without it, a key with `allowedCidrs` is refused. */ip?: string;
/** Scopes that the request needs, with commas between them. `POST /v1/keys/explain` takes scopes that have commas. */
	scopes?: string[];
	at?: string;
};
type KeyExplanation = {
	object: "key_explanation";
/** Whether a request with the key passes. */
	accepted: boolean;
/** The verdict: the first reason that applies, or `valid`. */
	code: "valid" | "missing_key" | "malformed_key" | "unknown_key" | "revoked_key" | "disabled_key" | "suspended_tenant" | "expired_key" | "too_old" | "ip_unknown" | "ip_not_allowed" | "insufficient_scope" | "rate_limited";
/** The time that the key was judged for. */
	at: string;
/** Null: the text is no key, or no key that you can see. */
	key: {
		object: "api_key";
		id: string;
		projectId: string;
		tenantId: string;
		env: Env;
		name: string | null;
		displayPrefix: string;
		scopes: string[];
		meta: Meta$1;
		rateLimits: RateLimit$1[] | null;
		allowedCidrs: string[] | null;
		expiresAt: string | null;
		revokedAt: string | null;
		revokedReason: string | null;
		disabledAt: string | null;
		disabledReason: string | null;
		disabledBy: "vendor" | "tenant" | null;
		rotatedFrom: string | null;
		rotatedTo: string | null;
		sourceId: string | null;
		importedAt: string | null;
		lastUsedAt: string | null;
		updatedAt: string;
		createdAt: string;
	} | null;
/** Null without a key, and without the permission `tenants:read`. */
	tenant: {
		id: string;
		externalId: string;
		name: string | null;
	} | null;
/** Null without a key, and without the permission `projects:read`. */
	project: {
		id: string;
		name: string;
	} | null;
/** Every reason for a refusal in the order of judging, whether it applies or not. */
	reasons: ({
		code: "malformed_key" | "unknown_key" | "revoked_key" | "disabled_key" | "suspended_tenant" | "expired_key" | "too_old" | "ip_unknown" | "ip_not_allowed" | "insufficient_scope" | "rate_limited";
/** Whether the request would be refused for this. */
		applies: boolean;
/** The facts, in a sentence for people. */
		detail: string;
	})[];
/** What is left of the limits of the key now. Nothing is charged. Null: the counters could not be read. Empty: the key has no limits, or `at` is named. */
	limits: ({
		id: string;
		limit: number;
		windowMs: number;
		algorithm: "sliding" | "fixed";
		scope: "key" | "tenant";
/** Whether the request fits this limit. */
		allowed: boolean;
/** How much of the limit is left after this request. */
		remaining: number;
/** Time until the current window ends. */
		resetMs: number;
	})[] | null;
/** The servers that hold the key. Null without a key, without the permission `projects:read`, and for a test credential, since it would reveal changes of live keys. */
	nodes: {
		/** Nodes of the environment that were seen within 90 s. */live: number;
/** How many of them hold the last change of the key. */
		current: number;
/** The others, the furthest behind first, at most 50. */
		behind: ({
			node: string;
/** The version that it holds. 0: it fetches its first snapshot. */
			version: number;
			seenAt: string;
		})[];
/** How many of them hold as many keys as they may, and so can lack this one. */
		full: number;
/** The version of the project that a node needs to have every change of the key: its own, those of its tenant, and those of all keys of the project. */
		version: number;
	} | null;
};
type ExportedKey = {
	object: "exported_key";
	id: string;
	projectId: string;
	env: Env;
	externalId: string;
	digest: string;
	displayPrefix: string;
/** The id that the key has where it comes from. */
	sourceId?: string;
	name?: string;
	scopes: string[];
	meta: Meta$1;
	rateLimits?: RateLimit$1[];
	allowedCidrs?: string[];
	expiresAt?: string;
	createdAt: string;
	disabledAt?: string;
};
type KeyExport = {
	/** Begins after the key with this id, the last one of an export that broke off. */cursor?: string;
	projectId?: string;
	env?: Env;
};
type KeyImport = {
	projectId: string;
	env: Env;
/** Writes nothing, and answers as the same call without it. */
	dryRun?: boolean;
/** Creates the tenants whose `externalId` is unknown. Only with a live credential. */
	createTenants?: boolean;
	rows: ({
		[name: string]: unknown;
	})[];
};
type KeyImported = {
	object: "key_import";
	dryRun: boolean;
	created: number;
	existing: number;
	invalid: number;
/** What became of each row, in the order of the call. */
	rows: ({
		/** `exists`: the tenant has the key in the project and environment; the row changes nothing, also if the key was revoked since. Once the key is deleted, the row is invalid. */status: "created" | "exists" | "invalid";
/** The id of the key. Of a row that is invalid: of the key that has its digest in the project and environment, for another tenant. Null: there is none, or none yet. */
		id: string | null;
/** Whether the key is neither revoked, expired nor paused, and its tenant not suspended. Absent: there is no key. */
		active?: boolean;
/** Why the row is invalid. Absent: it is not. */
		errors?: ({
			/** The field of the row, such as `scopes.1`. */path: string;
			message: string;
		})[];
	})[];
};
type KeyExample = {
	id: string;
	name: string | null;
	displayPrefix: string;
	projectId: string;
	tenantId: string;
	expiresAt: string | null;
	lastUsedAt: string | null;
	createdAt: string;
};
type KeyExamples = {
	count: number;
/** Whether there are more than `count`. */
	capped: boolean;
	examples: KeyExample[];
};
type KeyFilter = {
	projectId?: string;
	tenantId?: string;
	env?: Env;
	createdBefore?: string;
/** Last used before this time, or created before it and never used. */
	unusedSince?: string;
/** Active keys, not paused. `neverExpires`: without an end, the first made first. `expiring`: ends within `days` (14), the next first. `idle`: not used for `days` (90), nor made in these, the longest first; `unused`: of these, the never used. `tooOld`: older than `maxKeyLifetimeDays` of their project, the first made first; needs `projectId`. Not with `q`, `status`, `name` and `includeRevoked`. */
	hygiene?: "never_expires" | "expiring" | "unused" | "idle" | "too_old";
/** With `hygiene=expiring`, `unused` or `idle`. */
	days?: number;
/** Exactly this name, as `name` of the list. */
	name?: string;
};
type KeyList = Paging & {
	projectId?: string;
	tenantId?: string;
	externalId?: string;
	env?: Env;
	name?: string;
	includeRevoked?: "true" | "false";
/** The start of the `name` or the `displayPrefix`, or of a later word of the name, A to Z in any case, or the whole id. Sorts by what matches. */
	q?: string;
/** `expiring`: active, ends within 14 days, the next first. `disabled`: paused, neither expired nor revoked. `expired`: not revoked, the last first. Replaces `includeRevoked`. */
	status?: "active" | "expiring" | "disabled" | "expired" | "revoked";
	hygiene?: "never_expires" | "expiring" | "unused" | "idle" | "too_old";
	days?: number;
};
type KeyUpdate = {
	/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name?: string | null;
	scopes?: string[];
	meta?: Meta$1;
	rateLimits?: RateLimit$1[] | null;
	allowedCidrs?: string[] | null;
	expiresAt?: string | null;
};
type KeyUsage = {
	object: "key_usage";
	keyId: string;
	days: number;
	total: number;
	estimated: boolean;
	data: ({
		date: string;
		requestCount: number;
	})[];
};
type KeyVerdict = {
	object: "key_verdict";
/** Whether the request may pass. */
	valid: boolean;
/** Why not. If several reasons apply, the first of this list. */
	code: "valid" | "missing_key" | "malformed_key" | "unknown_key" | "revoked_key" | "disabled_key" | "suspended_tenant" | "expired_key" | "too_old" | "ip_unknown" | "ip_not_allowed" | "insufficient_scope" | "rate_limited";
/** Null unless `code` is `valid` or `rateLimited`. */
	key: {
		id: string;
		tenantId: string;
/** The own id that you gave the tenant. */
		externalId: string;
		env: Env;
		scopes: string[];
/** Null if it is longer than 2,048 bytes. */
		meta: {
			[name: string]: unknown;
		} | null;
		expiresAt: string | null;
/** With the permission `policy:labels`, or without a list of permissions. */
		name?: string | null;
	} | null;
/** The limits of the key after this request. Empty where none were checked. */
	limits: ({
		id: string;
		limit: number;
		windowMs: number;
		algorithm: "sliding" | "fixed";
		scope: "key" | "tenant";
		allowed: boolean;
		remaining: number;
		resetMs: number;
	})[];
/** Headers for your answer. Empty where no limits were checked. */
	headers: {
		"RateLimit-Policy"?: string;
		RateLimit?: string;
/** Whole seconds, at least 1. */
		"Retry-After"?: string;
	};
};
type KeyVerify = {
	/** What the customer sent. Where keys were imported, that may be any text of 1 to 512 visible ASCII characters. It is not stored or logged. Any text without NUL and unpaired surrogates has a verdict. */key: string;
	projectId: string;
/** Scopes that the key must have, compared exactly. */
	scopes?: string[];
/** The address that the request of the customer comes from, IPv4 or IPv6. A key with `allowedCidrs` needs it. */
	ip?: string;
/** How much the request takes from every limit. 0 checks without taking. */
	cost?: number;
};
type KeyUsageQuery = {
	days?: number;
};
type Member = {
	object: "member";
	id: string;
	userId: string;
	email: string;
	name: string | null;
	role: Role;
	joinedAt: string;
	createdAt: string;
};
type MemberList = Paging;
type MemberUpdate = {
	role: Role;
/** Also revokes the secret keys made by this person, the keys made with those, and so on. */
	revokeKeys?: boolean;
};
type NodeExample = {
	projectId: string;
	node: string;
	env: "live" | "test" | "both";
	version: number;
	behind: number;
	seenAt: string;
};
type NodeList = Paging;
type Overview = {
	object: "overview";
	env: Env;
	activeKeys: {
		count: number;
		capped: boolean;
	};
	requests: DailyUsage;
	nodes: {
		live: number;
/** Live nodes that hold the newest version. */
		current: number;
		capped: boolean;
	};
/** In this month so far. */
	billableTenants: number;
/** Active keys that expire within 14 days, the soonest first; that were not used for 90 days, the longest first; that never expire, the oldest first. Live nodes that are behind, the farthest first; that hold 80 % or more of the keys that they may hold, the fullest first. Beyond these a node refuses keys, and a new process does not start. */
	needsAttention: {
		expiringKeys: KeyExamples;
		unusedKeys: KeyExamples;
		endlessKeys: KeyExamples;
/** Keys older than `maxKeyLifetimeDays` of their project, the project with most first. */
		tooOldKeys: ({
			projectId: string;
			count: number;
			capped: boolean;
		})[];
		nodesBehind: {
			count: number;
			capped: boolean;
			examples: NodeExample[];
		};
		nodesFull: {
			count: number;
			capped: boolean;
			examples: ({
				projectId: string;
				node: string;
				env: "live" | "test" | "both";
				heldKeys: number;
				heldKeysMax: number;
				seenAt: string;
			})[];
		};
/** Whether the signed-in person has not verified their address. False for a secret key. */
		unverifiedAddress: boolean;
	};
};
type OverviewQuery = {
	/** The environment of the keys, requests and nodes. Billable tenants are those of live. */env?: Env;
};
type Permission = "policy:read" | "policy:labels" | "keys:verify" | "ratelimit:check" | "idempotency:use" | "usage:report" | "usage:read" | "embed:mint" | "keys:read" | "keys:write" | "keys:import" | "tenants:read" | "tenants:write" | "projects:read" | "projects:write" | "workspace:read" | "workspace:write" | "members:read" | "members:write" | "secret_keys:read" | "secret_keys:write" | "audit:read" | "overview:read";
type Project = {
	object: "project";
	id: string;
	name: string;
	slug: string;
	keyPrefix: string;
	defaultRateLimits: RateLimit$1[];
	knownScopes: string[];
/** Refuses scopes beyond `knownScopes`. */
	strictScopes: boolean;
/** How many days a key lives at most. A key without `expiresAt` gets this end; a later one is refused. Null: any time. */
	maxKeyLifetimeDays: number | null;
/** Keys older than `maxKeyLifetimeDays`: `report` lists them as `hygiene=too_old`, and nodes accept them. `refuse`: nodes answer `tooOld`. */
	lifetime: "report" | "refuse";
/** Whether a deletion is refused, with 409 `protected`, until this is false. */
	deleteProtection: boolean;
/** Whether a key was ever imported: servers then look up any text, and not only keys of the form of this service. */
	acceptsImported: boolean;
/** Rises with every change, live or test, that a node must see. Null for a test credential, since it would reveal changes of live keys. */
	policyVersion: number | null;
	updatedAt: string;
	createdAt: string;
};
type ProjectCreate = {
	/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name: string;
	slug: string;
	keyPrefix?: string;
	defaultRateLimits?: RateLimit$1[];
	knownScopes?: string[];
	strictScopes?: boolean;
	maxKeyLifetimeDays?: number | null;
	lifetime?: "report" | "refuse";
	deleteProtection?: boolean;
};
type ProjectList = Paging & {
	slug?: string;
/** The start of the `name`, or of a later word of the name, A to Z in any case, or the whole id. Sorts by what matches. */
	q?: string;
/** Only these ids, with commas between them. Not with `q`. */
	ids?: string[];
};
type ProjectUpdate = {
	/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name?: string;
	slug?: string;
	defaultRateLimits?: RateLimit$1[];
	knownScopes?: string[];
	strictScopes?: boolean;
	maxKeyLifetimeDays?: number | null;
	lifetime?: "report" | "refuse";
	deleteProtection?: boolean;
};
type ReadSecretKey = SecretKey & {
	cascade?: Cascade;
};
type RateLimit$1 = {
	id: string;
	limit: number;
	windowMs: number;
	algorithm: "sliding" | "fixed";
	scope: "key" | "tenant";
};
type RemovedMember = {
	object: "member";
	id: string;
	deleted: true;
	secretKeys: Descendants;
	cascade: Cascade;
};
type ResumeMany = {
	/** An id that is there twice is taken once. */ids?: string[];
	filter?: KeyFilter;
/** How many keys the filter matches, as `POST /v1/keys/count` says. Another number is 409 `countChanged`. */
	expect?: number;
};
type RevokedKey = Key & {
	propagation?: {
		acknowledged: boolean;
/** The version of the change; of several projects the highest, and 0 without a project. */
		version: number;
		nodes: number;
		nodesAcknowledged: number;
		pending: string[];
		waitedMs: number;
/** The database was replaced, or its clock set, within the last 90 s. Until all nodes have polled again, no revocation is acknowledged, and none is waited for. */
		reason?: "nodes_unknown";
	};
};
type PausedKey = RevokedKey;
type RevokedSecretKey = SecretKey & {
	descendants: Descendants;
	cascade: Cascade;
};
type Role = "member" | "admin" | "owner";
type RotatedKey = CreatedKey & {
	predecessor: {
		id: string;
		expiresAt: string | null;
	};
};
type RotatedSecretKey = CreatedSecretKey & {
	predecessor: {
		id: string;
		expiresAt: string | null;
	};
};
type SecretKey = {
	object: "secret_key";
	id: string;
	env: Env;
	role: "owner" | "admin";
	createdBy: {
		type: "user" | "secret_key" | "bootstrap" | "operator";
		id: string | null;
	};
	name: string | null;
	meta: Meta$1;
	displayPrefix: string;
	expiresAt: string | null;
/** Null: everything that its role allows. */
	permissions: Permission[] | null;
/** Null: the whole workspace. */
	projectIds: string[] | null;
/** The only addresses that it works from. Null: any address. */
	allowedCidrs: string[] | null;
	revokedAt: string | null;
	revokedReason: string | null;
	rotatedFrom: string | null;
	rotatedTo: string | null;
	lastUsedAt: string | null;
	createdAt: string;
};
type SecretKeyCreate = {
	env: Env;
	name?: string;
	meta?: Meta$1;
	expiresAt?: string;
	permissions?: Permission[];
/** `node`: what a server that verifies keys needs. `embed`: minting embed tokens only. */
	preset?: "node" | "embed";
	projectIds?: string[];
/** IPv4 or IPv6 ranges, or single addresses. No bit may be set after the prefix. */
	allowedCidrs?: string[];
};
type SecretKeyList = Paging & {
	env?: Env;
	includeRevoked?: "true" | "false";
	madeBy?: string;
};
type SecretKeyRevoke = {
	reason?: string;
/** Also revokes the secret keys made with this one, the keys made with those, and so on. */
	cascade?: boolean;
};
type SecretKeyUpdate = {
	/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name?: string | null;
	meta?: Meta$1;
};
type SecurityEvent = {
	object: "security_event";
	id: string;
	kind: SecurityEventKind;
	workspaceId: string | null;
	userId: string | null;
	actorType: "user" | "secret_key" | "embed_token" | "bootstrap" | "codehost" | "operator" | "system" | null;
	actorId: string | null;
/** As the trusted proxies report it. Null if you may not see it. */
	ip: string | null;
	userAgent: string | null;
/** How often it happened in the minute that begins at `createdAt`. */
	count: number;
	details: {
		[name: string]: unknown;
	};
	lastAt: string;
	createdAt: string;
};
type SecurityEventKind = "sign_in" | "sign_in_failed" | "new_device" | "workspace_entered" | "session_ended" | "password_changed" | "reset_requested" | "password_reset" | "address_verified" | "owner_added" | "owner_key_created" | "permission_refused" | "address_refused" | "throttled" | "credential_leaked" | "workspace_deleted";
type SecurityEventList = Paging & {
	kind?: SecurityEventKind;
/** Only events of this time and later. */
	createdAfter?: string;
/** Only events before this time. */
	createdBefore?: string;
	userId?: string;
};
type SettledTenant = Tenant & {
	propagation?: {
		acknowledged: boolean;
		version: number;
		nodes: number;
		nodesAcknowledged: number;
		pending: string[];
		waitedMs: number;
		reason?: "nodes_unknown";
	};
};
type SettledBulk = BulkOperation & {
	propagation?: BulkPropagation;
};
type StopMany = {
	/** An id that is there twice is taken once. */ids?: string[];
	filter?: KeyFilter;
	expect?: number;
	reason?: string;
};
type Tenant = {
	object: "tenant";
	id: string;
	externalId: string;
	name: string | null;
	meta: Meta$1;
/** The networks from which keys of the tenant may be used that have no list of their own. Empty: any. */
	allowedCidrs: string[];
/** Since when all of its keys are refused. Null: it is not suspended. */
	suspendedAt: string | null;
	suspendedReason: string | null;
	deleteProtection: boolean;
	updatedAt: string;
	createdAt: string;
};
type TenantCreate = {
	/** Your id of the tenant. */externalId: string;
	name?: string;
	meta?: Meta$1;
	allowedCidrs?: string[];
	deleteProtection?: boolean;
};
type TenantList = Paging & {
	/** Your id of the tenant. */externalId?: string;
/** The start of the `name` or the `externalId`, or of a later word of the name, A to Z in any case, or the whole id. Sorts by what matches. */
	q?: string;
	ids?: string[];
};
type TenantUpdate = {
	/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name?: string | null;
	meta?: Meta$1;
	allowedCidrs?: string[];
	deleteProtection?: boolean;
};
type TenantUsage = {
	/** The first day of the month, in UTC. */month: string;
	tenantId: string;
	projectId: string;
	env: Env;
	requestCount: number;
	estimated: boolean;
};
type TenantUsageQuery = Paging & {
	months?: number;
/** The last month of the span, by its first day in UTC. By default this month. */
	month?: string;
	env?: Env;
};
type Workspace = {
	object: "workspace";
	id: string;
	name: string;
	slug: string;
	billingEmail: string | null;
/** Whether the link that was mailed to `billingEmail` was used. Before, no other letter goes there. */
	billingEmailVerified: boolean;
	embedOrigins: string[];
/** Colour of buttons, pixels of corners, and plain text in the place of a logo. */
	embedTheme: {
		accent: string | null;
		radius: number | null;
		logoText: string | null;
	};
	updatedAt: string;
	createdAt: string;
};
type WorkspaceUpdate = {
	/** At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text. */name?: string;
	billingEmail?: string | null;
	embedOrigins?: string[];
/** Replaces the fields that it names. */
	embedTheme?: {
		accent?: string | null;
		radius?: number | null;
		logoText?: string | null;
	};
};
/**
 * Why a call of the service failed: a code of this package, a code of the service, or `http_` and the status of an answer
 * without one. A newer service may return other codes.
 */
type KeyrailErrorCode = 'aborted' | 'bad_response' | 'cache_raised' | 'cached_answer' | 'closed' | 'date_back' | 'misused' | 'nearly_full' | 'network_error' | 'own_check_failed' | 'policy_scope_too_large' | 'ready_timeout' | 'response_too_large' | 'secret_key_invalid' | 'secret_key_unavailable' | 'secret_lost' | 'service_hangs' | 'slow_snapshot' | 'timeout' | 'unreadable_key' | 'usage_ignored' | 'usage_unsent' | 'version_back' | 'malformed_request' | 'malformed_json' | 'validation_failed' | 'invalid_token' | 'unauthenticated' | 'invalid_credentials' | 'credential_not_accepted' | 'email_not_verified' | 'forbidden' | 'owner_required' | 'no_workspace' | 'workspace_unproven' | 'live_credential_required' | 'env_mismatch' | 'origin_not_allowed' | 'insufficient_permission' | 'whole_workspace_required' | 'ip_not_allowed' | 'insufficient_scope' | 'not_found' | 'route_not_found' | 'method_not_allowed' | 'request_timeout' | 'workspace_changed' | 'slug_taken' | 'external_id_taken' | 'already_member' | 'workspace_taken' | 'workspace_limit_reached' | 'last_owner' | 'key_not_active' | 'protected' | 'count_changed' | 'key_limit_reached' | 'counter_limit_reached' | 'idempotency_key_reused' | 'length_required' | 'payload_too_large' | 'snapshot_too_large' | 'unsupported_media_type' | 'too_many_requests' | 'too_many_in_flight' | 'headers_too_large' | 'internal_error' | 'unavailable' | `http_${number}` | (string & {});
/** A request field that the service rejected. */
interface FieldFault {
	/** Its path in body or query, such as `rateLimits.0.windowMs`. */
	path: string;
	/** What is wrong with it, in words. */
	message: string;
}
/** The facts of an error beside its code and message. */
interface KeyrailErrorFacts {
	/** HTTP status, if the service answered. */
	status?: number | undefined;
	/** The service's id of the request, for its log. */
	requestId?: string | undefined;
	/** The page about the error code, as the answer of the service names it: one of the installation. */
	docUrl?: string | undefined;
	/** With `validation_failed`: the rejected fields. */
	errors?: readonly FieldFault[] | undefined;
	/** Whether the same request may succeed later without any change. */
	retryable: boolean;
	/** How long the service asked to wait, in milliseconds. */
	retryAfterMs?: number | undefined;
	/** With `secret_lost`: the id of the resource that was made. */
	resourceId?: string | undefined;
}
/** An error between this node and the service. It never holds a secret key. */
declare class KeyrailError extends Error implements KeyrailErrorFacts {
	readonly name: string;
	readonly code: KeyrailErrorCode;
	readonly status: number | undefined;
	readonly requestId: string | undefined;
	readonly docUrl: string | undefined;
	/** With `validation_failed`: the rejected fields. Otherwise empty. */
	readonly errors: readonly FieldFault[];
	readonly retryable: boolean;
	readonly retryAfterMs: number | undefined;
	readonly resourceId: string | undefined;
	constructor(code: KeyrailErrorCode, message: string, facts: KeyrailErrorFacts);
}
/** There are more keys than this node may hold. */
declare class PolicyScopeTooLargeError extends KeyrailError {
	readonly name = "PolicyScopeTooLargeError";
	/** True: the node has never served, and does not start. False: it continues with the keys that it holds. */
	readonly refusedToStart: boolean;
	/** The most keys that the node may hold. */
	readonly maxKeys: number;
	constructor({
		refusedToStart,
		maxKeys
	}: {
		refusedToStart: boolean;
		maxKeys: number;
	});
}
/**
 * A condition that does not stop the keyring. `cache_raised`: the store's limit was raised. `disk_unusable`: the node runs
 * without `cacheDir`. `nearly_full`: it holds 80 % of the keys that it may hold. `disk_file_refused`, `disk_scope_mismatch`: the node starts without its file, which is damaged or
 * foreign, or was written for other tenants. `disk_write_failed`: the file on the disk is older than it should be.
 * `labels_left_out`: the feed has no names, and no `meta` of tenants, though the options ask for them.
 */
interface Notice {
	code: 'cache_raised' | 'disk_unusable' | 'disk_file_refused' | 'disk_scope_mismatch' | 'disk_write_failed' | 'labels_left_out' | 'nearly_full';
	message: string;
	/** With `cache_raised`: the new limit of the store, in keys. */
	maxCachedKeys?: number;
}
/**
 * A secret key (`krsk_…`), or a function that returns one or a promise of one. The function is called before every call of
 * the service, so it should cache an expensive look-up.
 */
type SecretKeySource = string | (() => string | Promise<string>);
/** How to reach the service. */
interface ConnectionOptions {
	/** Address of the Keyrail service, such as `https://keys.example.com`. Default: `KEYRAIL_URL`. */
	url?: string | URL | undefined;
	/**
	 * A secret key (`krsk_…`), or a function that returns one or a promise of one. The function is called before every call, so
	 * that the key can rotate. Sent only to the service. Default: `KEYRAIL_SECRET_KEY`.
	 */
	secretKey?: SecretKeySource | undefined;
	/** Allows `http` to other machines, where anyone on the network can read the secret key. Default: false. */
	insecure?: boolean | undefined;
	/** Sends the calls. Default: `node:http` on Node, and the global `fetch` elsewhere. */
	fetch?: typeof globalThis.fetch | undefined;
}
/** Reporting of errors outside a request. */
interface ErrorOptions {
	/**
	 * Receives every failed call; a missing permission only once until a call succeeds. Without it, the first failure of each
	 * code becomes a process warning.
	 */
	onError?: ((error: KeyrailError) => void) | undefined;
}
/**
 * What happens to a request if the service is unavailable: it passes, or is refused with 503. If the service refuses the
 * call, as for a revoked secret key, the request is always refused.
 */
type OnUnavailable = 'allow' | 'deny';
/** Options of `createEmbed`. The secret key needs the preset `embed`. */
interface EmbedOptions extends ConnectionOptions, ErrorOptions {
	/** Id of the project whose keys the pages manage. Default: `KEYRAIL_PROJECT`. */
	project?: string | undefined;
}
/** Whose keys a page manages, and what it may do: a tenant by `externalId`, your own id, or by `tenantId`. */
interface EmbedTokenRequest {
	externalId?: string | undefined;
	tenantId?: string | undefined;
	/** Creates the tenant if there is none with this `externalId`. */
	createTenant?: {
		name?: string | undefined;
	} | undefined;
	/** `keys:read`, `keys:write`, and `key_scope:<scope>` for each scope that a key may have. Default: `keys:read`. */
	scopes?: readonly string[] | undefined;
	/** Default: that of the secret key. */
	env?: 'live' | 'test' | undefined;
	/** Default: all `embedOrigins` of the workspace. */
	origins?: readonly string[] | undefined;
}
/** Lets customers manage their keys in your pages. */
interface Embed {
	/** `POST /v1/embed_tokens`: a token for the browser of one tenant, valid for five minutes. Rejects with a `KeyrailError`. */
	createToken(request: EmbedTokenRequest): Promise<EmbedToken>;
}
/**
 * Mints embed tokens for one project.
 *
 * @throws TypeError naming a missing or wrong option
 */
declare function createEmbed(options?: EmbedOptions): Embed;
/** An error answer of the vendor's API: RFC 9457 problem details. */
interface HttpProblem<Code extends string = string> {
	status: number;
	/** Names in lower case. */
	headers: Record<string, string>;
	body: {
		type: 'about:blank';
		title: string;
		status: number;
		detail: string;
		code: Code;
/** With `insufficient_scope`: all required scopes. */
		scopes?: readonly string[];
	};
}
/** Two requests with equal parts are the same request. Headers do not count. */
interface RequestParts {
	method: string;
	/** Path and query as sent, such as `/orders?a=1`. */
	target: string;
	/** The bytes of the body, or its text; empty without a body. */
	body: Uint8Array | string;
}
/** SHA-256 of method, path, sorted query and body in hexadecimal: 64 characters. */
declare function fingerprintOf({
	method,
	target,
	body
}: RequestParts): string;
/** An answer of the vendor's API, kept for repetitions of its request. */
interface StoredAnswer {
	status: number;
	/** Names in lower case. */
	headers: Readonly<Record<string, string>>;
	body: Uint8Array;
}
/** Headers as frameworks hold them: names in any case, several values for one name. */
type AnswerHeaders = Iterable<readonly [name: string, value: string | number | readonly string[] | undefined]>;
/**
 * A request that this process is to execute. Heartbeats keep the claim until its end is reported. If that fails, it is
 * reported again in the background while heartbeats continue, so that no other process executes the request meanwhile.
 */
interface HeldClaim {
	/** Aborted when this process loses the claim: another may execute the request now. */
	readonly taken: AbortSignal;
	/** Resolves when the end was reported, or given up. */
	readonly settled: Promise<void>;
	/**
	 * Reports the answer. Only an outcome is kept: 2xx, 3xx, and 4xx but 408, 425 and 429, without `Retry-After`. After any other
	 * answer a retry executes. Resolves when it is reported, or when one attempt has failed and the next ones run in the
	 * background. Send the answer to the customer in both cases.
	 *
	 * @param body null if it is too large to keep, or streams; it is not replayed then
	 */
	answered(status: number, headers: AnswerHeaders, body: Uint8Array | null): Promise<void>;
	/** Frees the record, so that a retry executes. */
	release(): Promise<void>;
	/**
	 * Reports that the client went away during the answer. Most handlers still finish it. If this one does not within 30 s,
	 * the record is freed.
	 */
	leave(): void;
}
/** The vendor's `meta` of a key or tenant: frozen JSON. */
type Meta = Readonly<Record<string, unknown>>;
/** The labels in a verdict. */
interface Whose {
	externalId?: string;
	tenantName?: string | null;
	keyName?: string | null;
	meta?: Meta | null;
	tenantMeta?: Meta | null;
}
/**
 * One limit of a key, as the service sent it. A limit with another algorithm or scope is passed on for the service to judge;
 * it may lack fields or have others.
 */
interface RateLimit {
	id: string;
	limit: number;
	/** Length of the window in milliseconds. */
	windowMs: number;
	algorithm: 'sliding' | 'fixed' | (string & {});
	/** Counts per key, or for all keys of the tenant together. */
	scope: 'key' | 'tenant' | (string & {});
}
/**
 * Why a key is refused. Codes are for programs and never change their meaning. If several reasons apply, the verdict is the
 * first of them in this list.
 */
declare const refusals: {
	readonly missing_key: 'No API key was presented';
	readonly malformed_key: 'This is not an API key: its form or its checksum is wrong';
	readonly wrong_env: 'The API key belongs to the other environment';
	readonly not_ready: 'No keys are loaded, so none can be verified';
	readonly stale: 'The API keys held here were not confirmed recently enough';
	readonly not_held: 'The API key is not held here, and not all keys are';
	readonly unknown_key: 'The API key is unknown or revoked';
	readonly revoked_key: 'The API key has been revoked';
	readonly disabled_key: 'The API key is disabled';
	readonly suspended_tenant: 'The account that the API key belongs to is suspended';
	readonly expired_key: 'The API key has expired';
	readonly too_old: 'The API key is older than its project allows';
	readonly ip_unknown: 'The API key is restricted to networks, and the address of the caller is not known';
	readonly ip_not_allowed: 'The API key may not be used from this address';
	readonly insufficient_scope: 'The API key lacks a required scope';
};
/** The codes of refusals. */
type RefusalCode = keyof typeof refusals;
/** The verdict on a valid key. Holds no secret and may be logged. `scopes` and `rateLimits` are frozen. */
interface Valid extends Whose {
	valid: true;
	code: 'valid';
	keyId: string;
	tenantId: string;
	env: 'live' | 'test';
	scopes: readonly string[];
	/** When the key expires or is too old, in milliseconds since the epoch; null if it never ends. */
	expiresAt: number | null;
	/** The limits of the key; absent if it has none. */
	rateLimits?: readonly RateLimit[];
}
/** The verdict on a key that is refused, perhaps only for now. */
interface Refused {
	valid: false;
	code: RefusalCode;
	/** For people; the same for every key with this code. */
	message: string;
}
/** The result of a verification: the key is valid, or why not. */
type Verdict = Valid | Refused;
/** Options of `createIdempotency`. */
interface IdempotencyOptions extends ConnectionOptions, ErrorOptions {
	/** Id of the project. The same `Idempotency-Key` in another project is another request. Default: `KEYRAIL_PROJECT`. */
	project?: string | undefined;
	/** How long an answer is kept, 60,000 to 604,800,000 ms. Default: 24 hours. */
	ttlMs?: number | undefined;
	/** The largest answer that is kept, in bytes, at most and by default 4,718,592. A larger one is not replayed. */
	maxBodyBytes?: number | undefined;
	/**
	 * The largest request that is claimed in Fetch handlers, Next and Hono, which read its body for the comparison, in bytes, at most
	 * 67,108,864. Default: 1,048,576. On the other frameworks the body parser has its own limit.
	 */
	maxRequestBytes?: number | undefined;
	/** How long a handler may run before the claim is given up and a retry executes, in ms. Default: 600,000. */
	maxRunMs?: number | undefined;
	/** Time limit of a call to the service in ms. Default: 5,000. */
	timeoutMs?: number | undefined;
	/**
	 * What happens to a request if the service is unavailable: `deny`, the default, answers 503; `allow` executes it and
	 * any repetition. If the service refuses the call, as for a revoked secret key, the request is always refused.
	 */
	onUnavailable?: OnUnavailable | undefined;
}
/** The request to claim. */
interface IdempotentRequest extends RequestParts {
	/** The verdict of its key. */
	key: Valid;
	/** The `Idempotency-Key` header: 1 to 255 printable ASCII characters. */
	idempotencyKey: string;
}
/** What to do with a request. */
type IdempotencyVerdict = /** Run the handler. Then call `claim.answered`, or `claim.release` if it threw. */{
	verdict: 'execute';
	claim: HeldClaim;
} /** Run the handler. The service was unavailable, and `onUnavailable` is `allow`. */ | {
	verdict: 'unprotected';
} /** The request was executed before: send its answer. The header `idempotent-replayed` marks it. */ | {
	verdict: 'replay';
	answer: StoredAnswer;
} /** Send the problem: 400, 403, 409, 422 or 503, or 500 if `key` is not the verdict of a valid key. */ | {
	verdict: 'refuse';
	problem: HttpProblem;
};
/** Executes requests once; made by `createIdempotency`. */
interface Idempotency {
	readonly maxBodyBytes: number;
	readonly maxRequestBytes?: number | undefined;
	/** Decides whether to execute a request. Never rejects. */
	claim(request: IdempotentRequest): Promise<IdempotencyVerdict>;
	/** Waits until the end of every finished handler is reported. */
	close(): Promise<void>;
}
/**
 * Prevents customers' requests from being executed twice.
 *
 * @throws TypeError naming a missing or wrong option
 */
declare const createIdempotency: (options?: IdempotencyOptions) => Idempotency;
/** What a verification requires beyond a valid key. */
interface Requirements {
	/** The key must have all of these scopes, compared exactly. */
	scopes?: readonly string[] | undefined;
	/** The accepted environments. Default: those of the keyring. */
	env?: 'live' | 'test' | 'both' | undefined;
	/**
	 * The address of the caller, such as `203.0.113.7`, without a port. Read only for a key that is restricted to networks, which is
	 * refused as `ip_unknown` without it.
	 */
	ip?: string | null | undefined;
}
/** Whose key your own check found. Name the customer by the tenant's id, or by your own id of it. */
type ImportedCustomer = ({
	tenantId: string;
	externalId?: undefined;
} | {
	externalId: string;
	tenantId?: undefined;
}) & {
	/** The name of the key. */name?: string | undefined;
/** Default: none. */
	scopes?: readonly string[] | undefined;
	meta?: Readonly<Record<string, unknown>> | undefined;
/** Milliseconds since the epoch. Default: never. */
	expiresAt?: number | null | undefined;
/** Makes the tenant of this `externalId` if there is none. Default: false. */
	createTenant?: boolean | undefined;
};
/**
 * Your own check of a key, once for all requests with it, so it says whose key it is and not what they need. Null or undefined: the key is not valid. If it throws, or takes longer than 5,000 ms, the request is refused
 * for now, as `not_held`. It keeps one of 64 places until it ends.
 */
type OnUnknownKey = (key: string) => Promise<ImportedCustomer | null | undefined>;
/** Options of `createKeyring`. */
interface KeyringOptions extends ConnectionOptions, ErrorOptions {
	/** Id of the project whose keys are verified. Default: `KEYRAIL_PROJECT`. */
	project?: string | undefined;
	/** Which keys are accepted. Default: the environment of the secret key, or `live` if `secretKey` is a function. */
	env?: 'live' | 'test' | 'both' | undefined;
	/** Holds only the keys of these tenants, at most 50. Empty or absent: all keys of the project. */
	tenantIds?: readonly string[] | undefined;
	/** How often to ask for changes if the service does not hold its answers, in ms. Default: 5,000. */
	pollIntervalMs?: number | undefined;
	/** How long keys are served without being confirmed, in ms. Default and maximum: 60,000. */
	cachedTtlMs?: number | undefined;
	/** How long `ready()` waits for keys before it rejects, in ms. The keyring goes on trying. Default: without a limit. */
	readyTimeoutMs?: number | undefined;
	/** How many keys are held before the store raises this limit by itself. Default: 10,000. */
	maxCachedKeys?: number | undefined;
	/**
	 * How far the store may raise that limit; `memory`: as far as a quarter of the memory of the container or machine reaches.
	 * Default: 38,000.
	 */
	maxAutoCachedKeys?: number | 'memory' | undefined;
	/**
	 * A directory for a copy of the keys, so that a new process can serve at once. Created with access for its owner only; one
	 * that others can write to is not used. Use one directory for each set of `tenantIds`.
	 */
	cacheDir?: string | undefined;
	/**
	 * Decides about a key that cannot be verified (`not_ready`, `stale`, `not_held`). If it returns a `Valid` that fits
	 * environment, scopes and expiry, and whose tenant is not known to be suspended, the key passes, unless the networks of key or
	 * tenant are known and the address is in none of them. It is given what the request requires, with the address of the caller. Otherwise, and by
	 * default, the key is refused.
	 */
	onUnavailable?: ((refusal: Refused, key: string, requirements?: Requirements) => Verdict) | undefined;
	/**
	 * Name of this node, unique in the fleet. Default: host name, process id and a random suffix. With a name of your own, `close()`
	 * does not tell the service that the node has stopped.
	 */
	node?: string | undefined;
	/** Receives notices: conditions that do not stop the keyring. Without it, they become process warnings. */
	onNotice?: ((notice: Notice) => void) | undefined;
	/** Verdicts have `externalId`, your own id of the tenant. Default: true. */
	externalId?: boolean | undefined;
	/** Verdicts have the `meta` of the key, null if it exceeds 2 KiB. It is held in memory. Default: true. */
	keyMeta?: boolean | undefined;
	/**
	 * Adds `keyName`, `tenantName` and `tenantMeta` to verdicts, if the secret key has the permission `policy:labels`. Default: false.
	 */
	labels?: boolean | undefined;
	/**
	 * Your own check of a key that the feed does not have, such as one of bcrypt, which cannot be looked up. Only gates ask it, such as
	 * `requireKey`, once for a key, for at most 64 keys at once, and wait 5,000 ms. The key is imported for the customer that it returns,
	 * and judged as any other once the feed has it; meanwhile its request waits. Needs `importWith`.
	 */
	onUnknownKey?: OnUnknownKey | undefined;
	/** A secret key with the permission `keys:import`, or a function that returns one, which imports what `onUnknownKey` accepts. */
	importWith?: SecretKeySource | undefined;
	/**
	 * Gates judge and count, and refuse nothing: they hand the verdict to the handler as `keyrail`. For the time beside an old check.
	 * Default: false.
	 */
	shadow?: boolean | undefined;
	/** Adds `externalId`, and with `policy:labels` the names. Default: false. */
	names?: boolean | undefined;
	/** Adds `meta` of the key, and with `policy:labels` `tenantMeta`. Default: false. */
	meta?: boolean | undefined;
}
/** What is left of one limit of a key. */
interface LimitState {
	id: string;
	/** Units that are left, as far as this server knows. */
	remaining: number;
	/** Time until the window ends, in ms. */
	resetMs: number;
}
/**
 * What decided: a call of the service; units that were charged before, see `prepay`; or a denial of the service that still
 * holds.
 */
type LimitSource = 'service' | 'prepaid' | 'remembered';
/** What every verdict of a limiter says. */
interface LimitNumbers {
	/** What is left of the limits that decided; absent if the service did not say. */
	limits?: readonly LimitState[] | undefined;
	/** Absent if nothing was checked. */
	source?: LimitSource | undefined;
	headers: Readonly<Record<string, string>>;
}
/** The result of a check. Send `headers` with any answer. */
type LimitVerdict = (LimitNumbers & {
	allowed: true;
	/**
	 * `no_limits`: the key has none. `unchecked`: the service was unavailable, and `onUnavailable` is `allow`; or the secret
	 * key may not check limits.
	 */
	code: 'allowed' | 'no_limits' | 'unchecked';
}) | (LimitNumbers & {
	allowed: false;
/** `misused`: the argument is not the verdict of a valid key, or the cost is invalid. `onError` receives the details. */
	code: 'rate_limited' | 'limits_unavailable' | 'misused';
/** The answer to send, with its headers: 429, 503 or 500. */
	problem: HttpProblem;
});
/** Bounds of `prepay`. */
interface PrepayOptions {
	/** How many units of one limit are held at most, 1 to 1,000. Default: 1,000. */
	maxUnits?: number | undefined;
	/** For how much demand to charge ahead, in ms; never for more than a twentieth of a window. Default: 5,000. */
	maxAgeMs?: number | undefined;
	/**
	 * Lets units of a sliding limit gather after a denial, for a sixteenth of its window: fewer than half the calls
	 * at the limit, and up to 4 % fewer requests pass. Default: false, each unit is charged as it comes back.
	 */
	gather?: boolean | undefined;
}
/** Options of `createLimiter`. */
interface LimiterOptions extends ConnectionOptions, ErrorOptions {
	/** Id of the project whose counters are charged. Default: `KEYRAIL_PROJECT`. */
	project?: string | undefined;
	/** Time limit of a check in ms. Default: 1,000. */
	timeoutMs?: number | undefined;
	/**
	 * What happens to a request if the service is unavailable: `deny`, the default, answers 503; `allow` lets it pass
	 * uncounted. The same holds if the service cannot hold a further counter. If the service refuses the call, as for a
	 * revoked secret key, the request is always refused. If the secret key only lacks the permission, requests pass uncounted,
	 * and `onError` receives it once.
	 */
	onUnavailable?: OnUnavailable | undefined;
	/**
	 * Charges several units of a limit with one call, and lets later requests pass without one. Never more pass than the limit;
	 * units that are left when a window ends are lost. Default: for keys whose limits all have at least 1,000 units a window for
	 * each server that checks limits; in workers for none. An object: for all keys. False: each request is asked about.
	 */
	prepay?: PrepayOptions | false | undefined;
}
/** Options of one check. */
interface LimitRequirements {
	/** How much the request takes from every limit, 0 to 1,000. Default: 1. 0 checks without taking. */
	cost?: number | undefined;
}
/** Charges requests to the limits of their keys; made by `createLimiter`. */
interface Limiter {
	/** Charges a request to all limits of its key, or to none. Never rejects. */
	limit(key: Valid, requirements?: LimitRequirements): Promise<LimitVerdict>;
	/** Counts since the limiter was made. */
	stats(): LimiterStats;
}
/** What a limiter has done since it was made. */
interface LimiterStats {
	/** Calls of the service. */
	calls: number;
	/** Requests by what decided them: the `source` of their verdicts. */
	requests: Record<LimitSource, number>;
	/** Units for later requests. */
	unitsHeld: number;
	/** Units that no request will use: left when their window ended, or lost with an answer. */
	unitsUnused: number;
	/** Counters that are known, and denials that are remembered; each at most 10,000. */
	counters: number;
}
/**
 * Checks limits with one call for the requests of one turn of the event loop, or fewer with `prepay`. A key without limits
 * needs none, and neither does one that was denied and still has nothing left. No check is repeated, because one without an answer
 * may have been charged. While the service hangs, one request at a time calls it, and `onUnavailable` decides for the others at once.
 *
 * @throws TypeError naming a missing or wrong option
 */
declare const createLimiter: (options?: LimiterOptions) => Limiter;
/** Options of `createUsageReporter`. */
interface UsageReporterOptions extends ConnectionOptions, ErrorOptions {
	/** The share of requests that is counted, 0.0001 to 1. Default: 1. */
	sampleRate?: number | undefined;
	/** How often counts are sent, in ms. Default: 10,000. */
	flushIntervalMs?: number | undefined;
	/** The most pairs of key and hour that wait to be sent. Default: 100,000. */
	maxEntries?: number | undefined;
	/** Time limit of a report in ms. Default: 10,000. */
	timeoutMs?: number | undefined;
}
/** The counters of a reporter, for logs and metrics. Holds no secret. */
interface UsageReporterStats {
	/** Counted requests that are not yet acknowledged. */
	pending: number;
	/** Counted requests that were acknowledged. */
	reported: number;
	/** Counted requests that will not be reported: over the bound, too old, invalid id, counted after the end, or ignored. */
	dropped: number;
	/** The error code of the last report; null if it succeeded. */
	lastError: KeyrailErrorCode | null;
}
/** Options of `close`. */
interface UsageCloseOptions {
	/** Time limit in ms, 0 to 600,000. Default: 10,000. */
	timeoutMs?: number | undefined;
}
/** Counts requests by key and reports them; made by `createUsageReporter`. */
interface UsageReporter extends AsyncDisposable {
	/** Counts one or more requests in memory. Never throws. */
	count(key: Pick<Valid, 'keyId'>, requests?: number): void;
	/** Sends the counts. Resolves when they are acknowledged, or when an attempt has failed. */
	flush(): Promise<void>;
	/** The current counters. */
	stats(): UsageReporterStats;
	/**
	 * Sends the remaining counts, in up to three attempts within `timeoutMs`, and stops. Reports counts that were not
	 * acknowledged to `onError` (`usage_unsent`). May be called twice.
	 */
	close(options?: UsageCloseOptions): Promise<void>;
}
/**
 * Reports to the service how often keys were used. A process that ends by itself sends the remaining counts first; otherwise
 * call `close()`.
 *
 * @throws TypeError naming a missing or wrong option
 */
declare const createUsageReporter: (options?: UsageReporterOptions) => UsageReporter;
/** The answer in place of a route's. */
interface HttpAnswer {
	status: number;
	/** Names in lower case. */
	headers: Readonly<Record<string, string>>;
	body: object;
}
/** Why a request is not executed, beside what its key lacks. */
type IdempotencyCode = 'idempotency_in_progress' | 'idempotency_key_reused' | 'idempotency_not_replayable' | 'idempotency_key_invalid' | 'idempotency_key_missing' | 'idempotency_body_unread' | 'idempotency_body_too_large' | 'idempotency_unavailable';
/** Where an old check and the keyring disagree, in requests since the keyring was made. */
interface ShadowStats {
	/** Both accepted, or both refused a key. */
	agreed: number;
	/** The old check accepted and the keyring refuses, by the code of the verdict. */
	refusedHere: Partial<Record<RefusalCode, number>>;
	/** The old check refused and the keyring accepts. */
	acceptedHere: number;
}
/** The state and counters of a keyring, for logs and metrics. Holds no secret. */
interface KeyringStats {
	/** Whether keys can be verified now: loaded, and confirmed recently enough. */
	serving: boolean;
	project: string;
	env: 'live' | 'test' | 'both';
	node: string;
	/** The served policy version; null before the first snapshot. */
	version: number | null;
	/** Keys held, and the current limit. */
	keys: number;
	maxCachedKeys: number;
	/** True: every key of the project and environment is held. False with `tenantIds`, or after keys were dropped for lack of memory. */
	complete: boolean;
	/** Milliseconds since the service last confirmed the keys; null if it never has. */
	confirmedAgeMs: number | null;
	/** Look-ups that found a key, and those that did not. A malformed key is not looked up. */
	hits: number;
	misses: number;
	/** Keys dropped for lack of memory. */
	evictions: number;
	/** Evictions per look-up; 0 before the first look-up. */
	evictionRate: number;
	/** Polls by outcome. */
	polls: {
		snapshot: number;
		delta: number;
		unchanged: number;
		error: number;
	};
	/** The error code of the last poll; null if it succeeded. */
	lastError: KeyrailErrorCode | null;
	/** Where the served keys come from: `disk` until the service has answered; null before there are any. */
	source: 'service' | 'disk' | null;
	/** For how many seconds the service may hold its next answer; 0 after a failed poll. */
	holdSeconds: number;
	/** Where an old check and the keyring disagree, by `compare`. Absent before its first call, unless the option `shadow` is set. */
	shadow?: ShadowStats;
}
/** The keys of a project, held in memory; made by `createKeyring`. */
interface Keyring extends AsyncDisposable {
	/**
	 * Resolves when keys are loaded. Rejects with a `KeyrailError` when retrying is useless: a wrong secret, an unknown
	 * project, too many keys, or `close()`; and with `ready_timeout` after `readyTimeoutMs`, if that is given. Waits while the
	 * service is not reachable.
	 */
	ready(): Promise<void>;
	/** Verifies a key: synchronous, in memory, never throws. */
	verify(key: string | null | undefined, requirements?: Requirements): Verdict;
	/**
	 * Verifies a key and counts whether an old check came to the same result: in `stats().shadow`, and for the reports of `usage`, in which
	 * it is no refusal.
	 *
	 * @param accepted the result of the old check
	 */
	compare(key: string | null | undefined, accepted: boolean, requirements?: Requirements): Verdict;
	/** The current state and counters. */
	stats(): KeyringStats;
	/**
	 * Stops polling and drops all keys; every key is refused from then on. Without `cacheDir` and `node` it also tells the service,
	 * so that no change waits for this node. May be called twice.
	 */
	close(): Promise<void>;
}
/**
 * Loads the keys of a project and keeps them current, so that each can be verified in memory.
 *
 * @throws TypeError naming a missing or wrong option
 */
declare function createKeyring(options?: KeyringOptions): Keyring;
/** A part may be given itself, or as the `Keyrail` that has it. */
type OfWhole<Name extends string, Part> = Part | { readonly [Each in Name]: Part };
/** A keyring, or a `Keyrail`. */
type KeyringOf = OfWhole<'keys', Pick<Keyring, 'verify'>>;
/** A limiter, or a `Keyrail`. */
type LimiterOf = OfWhole<'limiter', Pick<Limiter, 'limit'>>;
/** A usage reporter, or a `Keyrail`. */
type UsageOf = OfWhole<'usage', Pick<UsageReporter, 'count'>>;
/** The codes of a verdict. `internal_error`: your own code is wrong, and a warning or `onError` names the fault. */
type GateCode = 'valid' | 'no_key' | RefusalCode | 'rate_limited' | 'limits_unavailable' | IdempotencyCode | 'internal_error';
/** The verdict on a request, for metrics and logs. Holds no secret. */
interface GateVerdict {
	/** Whether the request passed. */
	passed: boolean;
	/** `valid`; `no_key` if none was sent where it is optional; or the code of the refusal. */
	code: GateCode;
	/** The verdict of the key, if it is valid. */
	key: Valid | undefined;
	/** The gate let the request pass, and later middleware refused it. Absent otherwise. */
	later?: true;
}
/** The answer in place of a refusal. An absent field keeps its value. */
interface RefusalShape {
	/** 400 to 599. */
	status?: number | undefined;
	/** Added to those of the refusal; the same name replaces its value. */
	headers?: Readonly<Record<string, string>> | undefined;
	/** Sent as JSON, with `application/json` unless `headers` name another type. */
	body?: object | undefined;
}
/** Options of every framework's protection. `Request` is the request that the framework passes to a route. */
interface GateOptions<Request = unknown> {
	/** Scopes that the key must all have. */
	scopes?: readonly string[] | undefined;
	/**
	 * The header, or headers, with the key. `authorization`, the default, holds `Bearer <key>`, any other the bare key. The
	 * first header in this list with a key counts.
	 */
	header?: string | readonly string[] | undefined;
	/** Finds the key in place of `header`. Null, undefined and '' mean no key. If it throws, the answer is 500. */
	getKey?: ((request: Request) => string | null | undefined | Promise<string | null | undefined>) | undefined;
	/**
	 * Finds the address of the caller, without a port, in place of the one that the framework knows. Undefined and null mean that it
	 * is not known: a key that is restricted to networks is then refused as `ip_unknown`. If it throws, the answer is 500.
	 */
	getIp?: ((request: Request) => string | null | undefined | Promise<string | null | undefined>) | undefined;
	/**
	 * Lets requests without a key pass, where nothing is demanded of the key: no scopes, no limits, no execution once. A key
	 * that is sent is still checked.
	 */
	optional?: boolean | undefined;
	/**
	 * Returns another answer for a refusal; undefined keeps it. `problem.body.code` is the reason. If it throws, or returns a
	 * promise or an invalid answer, the refusal stays, and a process warning reports it. It cannot let a request pass.
	 */
	onRefused?: ((problem: HttpProblem, request: Request) => RefusalShape | undefined) | undefined;
	/**
	 * Receives one verdict on every request, and, with `later`, each refusal by later middleware. An error that it throws is only reported.
	 */
	onVerdict?: ((verdict: GateVerdict, request: Request) => void) | undefined;
	/**
	 * Charges each request to the limits of its key, so each request needs one. Default: that of a `Keyrail` given as keyring,
	 * for requests with a key. False: no limits are charged.
	 */
	limiter?: LimiterOf | false | undefined;
	/** Counts each request that passes. Default: that of a `Keyrail` given as keyring. False: none is counted. */
	usage?: UsageOf | false | undefined;
}
/** Options of one route, beside those of the protection. */
interface RouteRequirements {
	scopes?: readonly string[] | undefined;
	/** How much a request takes from every limit, 0 to 1,000. Default: 1. Needs `limiter`. */
	cost?: number | undefined;
	/** Lets requests without a key pass on this route, where nothing is demanded of the key. */
	optional?: boolean | undefined;
}
/** The result of a gate: the request passes, or is answered with `refusal`. */
type Admission =
/**
 * `headers` hold the remaining limits; send them with the answer. `key` is undefined if none was sent where it is
 * optional.
 */
{
	key: Valid | undefined;
	headers: Readonly<Record<string, string>>;
/** What is left of the limits that decided; undefined if none did, or the service did not say. */
	limits?: LimitNumbers['limits'];
/** With the option `shadow` of the keyring alone: the verdict on the key, which may be a refusal. */
	verdict?: Verdict;
	refusal?: undefined;
} | {
	refusal: HttpAnswer;
	limits?: LimitNumbers['limits'];
	key?: undefined;
	headers?: undefined;
	verdict?: undefined;
};
/** A request for `createGate`. */
interface GateRequest {
	/** Name, value, name, value, as Node has them in `rawHeaders`. */
	rawHeaders: readonly string[];
	/** For your own `getKey`. */
	key?: string | undefined;
	/** The address of the caller, without a port. Without it, a key that is restricted to networks is refused as `ip_unknown`. */
	ip?: string | null | undefined;
}
/** Judges requests that no framework carries; made by `createGate`. */
interface RequestGate {
	/**
	 * Verifies the key of a request, charges its limits and counts it, once for each call. Rejects only if your `getKey` or `getIp` does.
	 *
	 * @throws TypeError for wrong scopes or a wrong cost
	 */
	admit(request: GateRequest, route?: RouteRequirements): Promise<Admission>;
}
/**
 * Protects what no framework of this package serves, such as the request of a proxy, with the verdicts, the answers and the
 * counts of a `requireKey`.
 *
 * @throws TypeError if the keyring is missing or an option wrong
 */
declare function createGate(keyring: KeyringOf, options?: GateOptions<GateRequest>): RequestGate;
/** Who asks for a token: a customer of yours, by your own session. */
interface EmbedCustomer {
	/** Your own id of the customer. */
	externalId: string;
	/** The name of the tenant, if Keyrail creates it. Its first 200 characters count. */
	name?: string | null | undefined;
	scopes?: EmbedTokenRequest['scopes'];
}
/** Your session check. Null: the request gets 401. */
type FindCustomer<R> = (request: R) => EmbedCustomer | null | undefined | Promise<EmbedCustomer | null | undefined>;
/**
 * Makes the `POST` endpoint at which your pages ask for embed tokens. Answers `{ token, expires_at }`, and creates the tenant of an
 * unknown customer. Pages of other origins than `origins` and its own may not ask. A function makes `embed` with the first request.
 *
 * @throws TypeError if an argument is missing or wrong
 */
type MakeEmbedHandler<R, Handler> = (embed: OfWhole<'embed', Embed> | (() => OfWhole<'embed', Embed>), findCustomer: FindCustomer<R>, options?: {
	origins?: readonly string[] | undefined;
}) => Handler;
/** Options of `idempotent`. */
interface IdempotentOptions {
	/** True: a request without `Idempotency-Key` is refused with 400. False, the default: it is executed. */
	required?: boolean | undefined;
}
/** What `createIdempotency` returns, or a `Keyrail`. */
type IdempotencyOf = OfWhole<'idempotency', Idempotency>;
/** Options of one call, in place of those of the client. */
interface CallOptions {
	/** Aborts the call, which rejects with the code `aborted`. */
	signal?: AbortSignal | undefined;
	/** Time limit of one attempt in ms. */
	timeoutMs?: number | undefined;
	/** How often a failed call is repeated, if repeating it is safe. */
	maxRetries?: number | undefined;
}
interface KeyedOptions extends CallOptions {
	/** Names a create or rotation, so that repeating it makes nothing new. 1 to 255 printable ASCII characters; a new UUID by default. */
	idempotencyKey?: string | undefined;
}
/** One page of a list. */
interface Page<T> {
	object: 'list';
	data: T[];
	hasMore: boolean;
	nextCursor: string | null;
}
/** A list of the service. `for await` reads all of it, page by page; `page()` reads one page. */
interface Listing<T> extends AsyncIterable<T> {
	/** The page that the query names. For the next one, pass `nextCursor` as `cursor`. */
	page(): Promise<Page<T>>;
}
/** How a rotation replaces a key. */
interface RotateBody {
	/** Hours for which the predecessor stays valid, 0 to 168; 24 by default. */
	overlapHours?: number;
}
/** Whether a change is answered once the nodes have it. */
interface Waiting {
	/** Waits for the nodes, and for the last batch of many keys; at most 15 s, as the operator has set it. */
	wait?: boolean;
}
/** How a key is revoked or paused, or a tenant suspended. */
interface StopOptions extends Waiting {
	/** 1 to 500 characters. */
	reason?: string;
}
interface AdminOptions extends ConnectionOptions {
	/** Time limit of one attempt in ms, 30,000 by default: a revocation that waits for the fleet takes up to 15 s. */
	timeoutMs?: number | undefined;
	/** How often a failed call is repeated, if repeating it is safe. 0 to 10, 2 by default. */
	maxRetries?: number | undefined;
}
/** Calls on the keys of tenants. */
interface KeyCalls {
	/** `POST /v1/keys`. Rejects with `secret_lost` if the answer with `key` was lost: rotate the key `resourceId` then. */
	create(body: KeyCreate, options?: KeyedOptions): Promise<CreatedKey>;
	/** `GET /v1/keys` */
	list(query?: KeyList, options?: CallOptions): Listing<Key>;
	/** `GET /v1/keys/:id` */
	get(id: string, options?: CallOptions): Promise<Key>;
	/** `POST /v1/keys/identify`. Finds a key by the key itself, also a revoked or expired one. */
	identify(key: string, options?: CallOptions): Promise<Key>;
	/** `GET /v1/keys/:id/explain`. Whether nodes accept the key, and every reason why not. Charges nothing. */
	explain(id: string, query?: KeyExplainQuery, options?: CallOptions): Promise<KeyExplanation>;
	/** `POST /v1/keys/explain`. The same for the key itself, also for a text that is no key of the workspace. */
	explainText(body: KeyExplain, options?: CallOptions): Promise<KeyExplanation>;
	/**
	 * `POST /v1/keys/verify`. Judges a key, charges its limits and counts the request; every verdict resolves. Not repeated by
	 * default, since a call without an answer may have been charged. A keyring verifies without a call.
	 */
	verify(body: KeyVerify, options?: CallOptions): Promise<KeyVerdict>;
	/** `PATCH /v1/keys/:id` */
	update(id: string, body: KeyUpdate, options?: CallOptions): Promise<Key>;
	/** `POST /v1/keys/:id/rotate`. Rejects with `secret_lost` if the answer with `key` was lost: rotate `resourceId` then. */
	rotate(id: string, body?: RotateBody, options?: KeyedOptions): Promise<RotatedKey>;
	/** `POST /v1/keys/:id/revoke`. With `wait` it returns once the nodes have the revocation, and lists those that have not. */
	revoke(id: string, stop?: StopOptions, options?: CallOptions): Promise<RevokedKey>;
	/** `POST /v1/keys/:id/disable`. Nodes refuse the key until it is resumed. With `wait` it returns once they have the pause. */
	disable(id: string, stop?: StopOptions, options?: CallOptions): Promise<PausedKey>;
	/** `POST /v1/keys/:id/enable`. Resumes a paused key, which is then what it was. */
	enable(id: string, waiting?: Waiting, options?: CallOptions): Promise<PausedKey>;
	/** `POST /v1/keys/revoke`. Up to 200 `ids`, or a `filter` and how many keys it is to match; batches go on after the answer. */
	revokeMany(stop: StopMany & Waiting, options?: KeyedOptions): Promise<SettledBulk>;
	/** `POST /v1/keys/disable`. Pauses keys, named as for `revokeMany`. */
	disableMany(stop: StopMany & Waiting, options?: KeyedOptions): Promise<SettledBulk>;
	/** `POST /v1/keys/enable`. Resumes paused keys, named as for `revokeMany`. */
	enableMany(resume: ResumeMany & Waiting, options?: KeyedOptions): Promise<SettledBulk>;
	/** `POST /v1/keys/count`. On how many keys an action would do something: the number to `expect`. */
	count(body: KeyCountBody, options?: CallOptions): Promise<KeyCount>;
	/** `GET /v1/keys/bulk/:id`. How far a change of many keys has come, for 7 days after its end. */
	getBulk(id: string, options?: CallOptions): Promise<BulkOperation>;
	/** `POST /v1/keys/import`. Up to 1,000 keys of another system by their SHA-256. Each row has its own answer; every one resolves. */
	import(body: KeyImport, options?: KeyedOptions): Promise<KeyImported>;
	/**
	 * `GET /v1/keys/export`. An owner's keys that are neither revoked nor expired, with their digests, in one stream, read as fast as
	 * you take them. A broken stream continues after the last key. `timeoutMs` limits the wait for more data, not the whole.
	 */
	export(query?: KeyExport, options?: CallOptions): AsyncIterable<ExportedKey>;
	/** `DELETE /v1/keys/ended`. An owner deletes a batch of revoked and expired keys; repeat it while `hasMore`. */
	deleteEnded(query?: EndedKeysQuery, options?: CallOptions): Promise<EndedKeysDeleted>;
	/** `GET /v1/keys/:id/usage` */
	usage(id: string, query?: KeyUsageQuery, options?: CallOptions): Promise<KeyUsage>;
}
declare function openAdmin(): {
	projects: {
		/** `POST /v1/projects` */create: (body: ProjectCreate, options?: KeyedOptions) => Promise<Project>;
/** `GET /v1/projects` */
		list: (query?: ProjectList, options?: CallOptions) => Listing<Project>;
/** `GET /v1/projects/:id` */
		get: (id: string, options?: CallOptions) => Promise<Project>;
/** `PATCH /v1/projects/:id` */
		update: (id: string, body: ProjectUpdate, options?: CallOptions) => Promise<Project>;
/** `DELETE /v1/projects/:id`. Revokes every key of the project. */
		delete: (id: string, options?: CallOptions) => Promise<DeletedProject>;
/** `GET /v1/projects/:id/nodes`. The servers that hold the keys of the project, the last seen first. */
		nodes: (id: string, query?: NodeList, options?: CallOptions) => Listing<FleetNode>;
	};
	tenants: {
		/** `POST /v1/tenants` */create: (body: TenantCreate, options?: KeyedOptions) => Promise<Tenant>;
/** `GET /v1/tenants` */
		list: (query?: TenantList, options?: CallOptions) => Listing<Tenant>;
/** `GET /v1/tenants/:id`. This and the methods below also take `external:acme` as id. */
		get: (id: string, options?: CallOptions) => Promise<Tenant>;
/** `PATCH /v1/tenants/:id` */
		update: (id: string, body: TenantUpdate, options?: CallOptions) => Promise<Tenant>;
/** `POST /v1/tenants/:id/suspend`. Nodes refuse all keys of the tenant until it is resumed, and no key changes. */
		suspend: (id: string, {
			wait,
			...body
		}?: StopOptions, options?: CallOptions) => Promise<SettledTenant>;
/** `POST /v1/tenants/:id/resume`. Its keys are what they were. */
		resume: (id: string, {
			wait
		}?: Waiting, options?: CallOptions) => Promise<SettledTenant>;
/** `POST /v1/tenants/:id/embed_tokens/revoke`. Every embed token of the tenant fails on its next request. */
		revokeEmbedTokens: (id: string, options?: CallOptions) => Promise<EmbedTokensRevoked>;
/** `DELETE /v1/tenants/:id`. Revokes every key of the tenant. */
		delete: (id: string, options?: CallOptions) => Promise<DeletedTenant>;
	};
	keys: KeyCalls;
	secretKeys: {
		/** `POST /v1/secret_keys` */create: (body: SecretKeyCreate, options?: KeyedOptions) => Promise<CreatedSecretKey>;
/** `GET /v1/secret_keys` */
		list: (query?: SecretKeyList, options?: CallOptions) => Listing<SecretKey>;
/** `GET /v1/secret_keys/:id` */
		get: (id: string, options?: CallOptions) => Promise<ReadSecretKey>;
/** `PATCH /v1/secret_keys/:id`. Only the name and `meta` change. */
		update: (id: string, body: SecretKeyUpdate, options?: CallOptions) => Promise<SecretKey>;
/** `POST /v1/secret_keys/:id/rotate` */
		rotate: (id: string, body?: RotateBody, options?: KeyedOptions) => Promise<RotatedSecretKey>;
		/**
		 * `POST /v1/secret_keys/:id/revoke`. `descendants` of the answer are the newest of the keys made with it, the keys made
		 * with those, and so on; `cascade` revokes them too. While that goes on, the answer and `get` have `cascade.state`
		 * `running`.
		 */
		revoke: (id: string, body?: SecretKeyRevoke, options?: CallOptions) => Promise<RevokedSecretKey>;
/** `DELETE /v1/secret_keys/ended`. An owner deletes a batch of revoked and expired ones; repeat it while `hasMore`. */
		deleteEnded: (query?: EndedSecretKeysQuery, options?: CallOptions) => Promise<EndedKeysDeleted>;
	};
	embedTokens: {
		/** `POST /v1/embed_tokens`. A token for the browser of one tenant, valid for five minutes. */create: (body: EmbedTokenCreate, options?: CallOptions) => Promise<EmbedToken>;
	};
	auditLogs: {
		/** `GET /v1/audit_logs`. In rising order of `seq`, or with `order: 'desc'` the newest first. */list: (query?: AuditLogList, options?: CallOptions) => Listing<AuditLog>;
		/**
		 * `GET /v1/audit_logs/export`.
		 * All rows, or those after row `afterSeq`, in one stream, read as fast as you take them. A broken stream continues
		 * after the last row. `timeoutMs` limits the wait for more data, not the whole.
		 */
		export: (query?: AuditExport, options?: CallOptions) => AsyncIterable<AuditLog>;
/** `GET /v1/audit_logs/chain` */
		chain: (options?: CallOptions) => Promise<AuditChain>;
	};
	securityEvents: {
		/** `GET /v1/security_events`. Newest first. Needs a key with the role owner. */list: (query?: SecurityEventList, options?: CallOptions) => Listing<SecurityEvent>;
	};
	usage: {
		/** `GET /v1/usage/daily`. Requests of the workspace, a project, a tenant, or a tenant in a project. */daily: (query?: DailyUsageQuery, options?: CallOptions) => Promise<DailyUsage>;
/** `GET /v1/usage/top`. The tenants, projects or keys with the most requests. Needs `overview:read`. */
		top: (query?: TopUsageQuery, options?: CallOptions) => Promise<TopUsage>;
/** `GET /v1/usage/refusals`. Requests that nodes refused, by reason, of the workspace or a project. */
		refusals: (query?: RefusalsQuery, options?: CallOptions) => Promise<Refusals>;
/** `GET /v1/usage/billing` */
		billing: (query?: BillingUsageQuery, options?: CallOptions) => Promise<BillingUsage>;
/** `GET /v1/usage/tenants` */
		tenants: (query?: TenantUsageQuery, options?: CallOptions) => Listing<TenantUsage>;
	};
	workspace: {
		/** `GET /v1/workspace` */get: (options?: CallOptions) => Promise<Workspace>;
/** `PATCH /v1/workspace` */
		update: (body: WorkspaceUpdate, options?: CallOptions) => Promise<Workspace>;
/** `GET /v1/overview`. Keys, requests, nodes, billable tenants, and what needs attention. */
		overview: (query?: OverviewQuery, options?: CallOptions) => Promise<Overview>;
	};
	members: {
		/** `GET /v1/members` */list: (query?: MemberList, options?: CallOptions) => Listing<Member>;
/** `PATCH /v1/members/:userId` */
		update: (userId: string, body: MemberUpdate, options?: CallOptions) => Promise<ChangedMember>;
/** `DELETE /v1/members/:userId`. `revokeKeys` also revokes the keys made by this person, the keys made with those, and so on. */
		remove: (userId: string, query?: {
			revokeKeys?: boolean;
		}, options?: CallOptions) => Promise<RemovedMember>;
	};
	invites: {
		/** `POST /v1/invites` */create: (body: InviteCreate, options?: KeyedOptions) => Promise<CreatedInvite>;
/** `GET /v1/invites` */
		list: (query?: InviteList, options?: CallOptions) => Listing<Invite>;
/** `POST /v1/invites/:id/revoke` */
		revoke: (id: string, options?: CallOptions) => Promise<Invite>;
	};
};
/** Manages a workspace; made by `createAdmin`. Each method names the route that it calls. */
interface Admin extends ReturnType<typeof openAdmin> {}
/**
 * Manages a workspace with its secret key. Every call rejects with a `KeyrailError` (`code`, `status`, `requestId`).
 * Tenant ids, also `tenantId` in a query or body, may be given as `external:acme`: the tenant whose `externalId` is `acme`.
 *
 * @throws TypeError naming a missing or wrong option; Error in a browser
 */
declare function createAdmin(options?: AdminOptions): Admin;
/** The options of one part, without those that all parts share. */
type PartOptions<Options> = Omit<Options, keyof ConnectionOptions | keyof ErrorOptions | 'project'>;
/** Options of `createKeyrail`: the connection, and the own options of each part. */
interface KeyrailOptions extends ConnectionOptions, ErrorOptions {
	/** Id of the project to protect. Default: `KEYRAIL_PROJECT`. `usage` and `admin` do not need it. */
	project?: string | undefined;
	/** Options of the keyring, such as `tenantIds` and `cacheDir`. */
	keys?: PartOptions<KeyringOptions> | undefined;
	/** Such as `onUnavailable`. */
	limiter?: PartOptions<LimiterOptions> | undefined;
	/** Such as `maxRunMs`. */
	idempotency?: PartOptions<IdempotencyOptions> | undefined;
	/** Such as `sampleRate`. */
	usage?: PartOptions<UsageReporterOptions> | undefined;
	/** Such as `maxRetries`. */
	admin?: PartOptions<AdminOptions> | undefined;
}
/** For a route such as `/readyz`. Holds no secret. */
interface KeyrailHealth {
	/** Whether keys can be verified now. */
	ok: boolean;
	/** Milliseconds since the service last confirmed the keys; null if it never has. */
	lagMs: number | null;
	/** Where the keys come from: `disk` until the service has answered; null before there are any. */
	source: KeyringStats['source'];
	/** The error code of the last poll; null if it succeeded. `closed` after `close()`. */
	lastError: KeyrailErrorCode | null;
	/** For how many seconds the service may hold its next answer; 0 after a failed poll. */
	holdSeconds: number;
}
/** Protects an API and manages its keys, over one connection. Each part is made when it is first used. */
interface Keyrail extends AsyncDisposable {
	/** Verifies keys, as `createKeyring` does. `requireKey(keyrail)` also charges limits and counts requests. */
	readonly keys: Keyring;
	/** Charges requests to the limits of their keys, as `createLimiter` does. */
	readonly limiter: Limiter;
	/** Executes requests once, as `createIdempotency` does. */
	readonly idempotency: Idempotency;
	/** Counts requests by key, as `createUsageReporter` does. */
	readonly usage: UsageReporter;
	/** Manages the workspace, as `createAdmin` does. */
	readonly admin: Admin;
	/** Mints embed tokens, as `createEmbed` does: `embedHandler(keyrail.embed, …)`. The secret key needs `embed:mint`. */
	readonly embed: Embed;
	/**
	 * Resolves when keys are loaded, and rejects when `keys.ready()` does. Asks what the secret key may do, for 1,000 ms at most;
	 * what a guard needs and the key may not do goes to `onError` as `insufficient_permission`, at once or when the guard is made.
	 */
	ready(): Promise<void>;
	/** The state of `keys`. Never throws, also after `close()`. */
	health(): KeyrailHealth;
	/**
	 * Sends the counts of `usage`, within `timeoutMs`, then closes all parts. After that, using a part throws a
	 * `KeyrailError` with the code `closed`. May be called twice.
	 */
	close(options?: UsageCloseOptions): Promise<void>;
}
/**
 * Protects an API and manages its keys.
 *
 * @throws TypeError naming a missing or wrong option. A part's own options are checked when it is made
 */
declare const createKeyrail: (options?: KeyrailOptions) => Keyrail;
/**
 * The key of a request, behind a protection that demands one: `request.apiKey` may be undefined for the compiler, because a
 * route may be public or its key optional.
 *
 * @throws TypeError if the request has no key
 */
declare function apiKeyOf({
	apiKey
}: {
	apiKey?: Valid | undefined;
}): Valid;
/** Answers the pages that ask for embed tokens: a `POST` handler of the Fetch API. */
declare const embedHandler: MakeEmbedHandler<Request, (request: Request) => Promise<Response>>;
/** What protects the routes: the keyring, or a `Keyrail`, and the optional other parts. */
interface Protection {
	keyring: KeyringOf & Partial<Pick<Keyring, 'ready' | 'close'>>;
	limiter?: LimiterOf | false | undefined;
	idempotency?: IdempotencyOf | undefined;
	usage?: UsageOf | false | undefined;
}
/** A keyring or a `Keyrail`, or a function that returns one of them, perhaps with the other parts. */
type KeyringSource = KeyringOf | (() => Protection | KeyringOf | Promise<Protection | KeyringOf>);
/** Options of `withKey`. */
interface WithKeyOptions extends Omit<GateOptions<Request>, 'getIp'>, Pick<RouteRequirements, 'cost'> {
	/**
	 * Finds the address of the caller, without a port, by what the host passes beside the request, as `(request, server) =>
	 * server.requestIP(request)?.address` in Bun. Without it, or if it returns undefined or null, a key that is restricted to networks
	 * is refused as `ip_unknown`. If it throws, the answer is 500.
	 */
	getIp?: ((request: Request, ...host: any[]) => ReturnType<NonNullable<GateOptions['getIp']>>) | undefined;
	/** Executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
	idempotency?: IdempotencyOf | undefined;
	/** Refuses requests without `Idempotency-Key` with 400. */
	idempotencyRequired?: IdempotentOptions['required'];
	/**
	 * A host that freezes a process after an answer has such a function, as `after` of `next/server`. The counts of `usage` are
	 * sent before that, once a second at most.
	 */
	waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}
/** A request handler that also gets the key, and then what the host passes beside the request. */
type KeyedHandler<R extends Request, Host extends unknown[], K = Valid> = (request: R, keyed: {
	apiKey: K;
	keyrail?: Verdict;
}, ...host: Host) => Response | Promise<Response>;
/**
 * Wraps a handler that turns a `Request` into a `Response`: of Bun, Deno, workers, or any framework of the Fetch API. Refuses
 * as `application/problem+json`. With a whole `Keyrail`, charges limits and counts requests.
 *
 * @param keyring or a `Keyrail`, whose keyring is made with the first request; or a function that makes one of the two, called
 *   once with the first request, for hosts where the service is not reachable when the code is loaded. Handlers with the same
 *   function share its result
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a handler open
 */
declare function withKey<R extends Request = Request, Host extends unknown[] = []>(keyring: KeyringSource, handler: KeyedHandler<R, Host, Valid | undefined>, options: WithKeyOptions & {
	optional: true;
}): (request: R, ...host: Host) => Promise<Response>;
declare function withKey<R extends Request = Request, Host extends unknown[] = []>(keyring: KeyringSource, handler: KeyedHandler<R, Host>, options?: WithKeyOptions): (request: R, ...host: Host) => Promise<Response>;
export { Admin, AdminOptions, Admission, AnswerHeaders, AuditAction, AuditChain, AuditExport, AuditLog, AuditLogList, BillingUsage, BillingUsageQuery, BulkFailure, BulkOperation, BulkPropagation, CallOptions, Cascade, ChangedMember, ConnectionOptions, CreatedInvite, CreatedKey, CreatedSecretKey, DailyUsage, DailyUsageQuery, DeletedProject, DeletedTenant, Descendants, Embed, EmbedCustomer, EmbedOptions, EmbedToken, EmbedTokenCreate, EmbedTokenRequest, EmbedTokensRevoked, EndedKeysDeleted, EndedKeysQuery, EndedSecretKeysQuery, Env, ErrorOptions, ExportedKey, FieldFault, FindCustomer, FleetNode, GateCode, GateOptions, GateRequest, GateVerdict, HeldClaim, HttpAnswer, HttpProblem, Idempotency, IdempotencyCode, IdempotencyOf, IdempotencyOptions, IdempotencyVerdict, IdempotentOptions, IdempotentRequest, ImportedCustomer, Invite, InviteCreate, InviteList, Key, KeyCalls, KeyCount, KeyCountBody, KeyCreate, KeyExample, KeyExamples, KeyExplain, KeyExplainQuery, KeyExplanation, KeyExport, KeyFilter, KeyImport, KeyImported, KeyList, KeyUpdate, KeyUsage, KeyUsageQuery, KeyVerdict, KeyVerify, KeyedHandler, KeyedOptions, Keyrail, KeyrailError, KeyrailErrorCode, KeyrailErrorFacts, KeyrailHealth, KeyrailOptions, Keyring, KeyringOf, KeyringOptions, KeyringSource, KeyringStats, LimitNumbers, LimitRequirements, LimitSource, LimitState, LimitVerdict, Limiter, LimiterOf, LimiterOptions, LimiterStats, Listing, MakeEmbedHandler, Member, MemberList, MemberUpdate, Meta$1 as Meta, NodeExample, NodeList, Notice, OfWhole, OnUnavailable, OnUnknownKey, Overview, OverviewQuery, Page, Paging, PartOptions, PausedKey, Permission, PolicyScopeTooLargeError, PrepayOptions, Project, ProjectCreate, ProjectList, ProjectUpdate, Protection, RateLimit, RateLimit$1, ReadSecretKey, RefusalCode, RefusalShape, Refusals, RefusalsQuery, Refused, RemovedMember, RequestGate, RequestParts, Requirements, ResumeMany, RevokedKey, RevokedSecretKey, Role, RotateBody, RotatedKey, RotatedSecretKey, RouteRequirements, SecretKey, SecretKeyCreate, SecretKeyList, SecretKeyRevoke, SecretKeySource, SecretKeyUpdate, SecurityEvent, SecurityEventKind, SecurityEventList, SettledBulk, SettledTenant, ShadowStats, StopMany, StopOptions, StoredAnswer, Tenant, TenantCreate, TenantList, TenantUpdate, TenantUsage, TenantUsageQuery, TopUsage, TopUsageQuery, UsageCloseOptions, UsageOf, UsageReporter, UsageReporterOptions, UsageReporterStats, Valid, Verdict, Waiting, Whose, WithKeyOptions, Workspace, WorkspaceUpdate, apiKeyOf, createAdmin, createEmbed, createGate, createIdempotency, createKeyrail, createKeyring, createLimiter, createUsageReporter, embedHandler, fingerprintOf, refusals, withKey };