import type { EmbedErrorCode, EmbedErrorFacts } from '../../../../embed/src/client/embed-error.ts'

/** What refuses in the played service. */
export interface PlayedFailure {
  /**
   * Calls that read fail while the state is shown, `later list` after the first list; a change fails once, so that the next try can
   * be seen.
   */
  readonly of: 'session' | 'later list' | 'usage' | 'create' | 'rotate'
  readonly code: EmbedErrorCode
  readonly facts?: EmbedErrorFacts
}

export type PlayedDialog =
  | 'create'
  | 'secret'
  | 'edit'
  | 'rotate'
  | 'pause'
  | 'revoke'
  | 'refused-create'
  | 'refused-rotate'

/** A state in which customers can meet the widget. */
export interface PlayedState {
  readonly value: string
  readonly group: string
  readonly label: string
  /** What cannot be seen. */
  readonly says: string
  readonly keys?: 'none' | 'many' | 'most'
  readonly isLoading?: true
  /** Whether the project has a list of scopes. */
  readonly knowsScopes?: true
  readonly fails?: PlayedFailure
  /** What you do with the key while its dialog is open. */
  readonly elsewhere?: 'pause' | 'revoke'
  /** What a customer has opened. */
  readonly opens?: PlayedDialog
  /** Whether the page has asked for the list again. */
  readonly refreshes?: true
}

const list = 'The list'
const refused = 'The keys cannot be shown'
const dialogs = 'Dialogs'
const forms = 'A form is refused'

export const playedStates = [
  {
    value: 'keys',
    group: list,
    label: 'Keys',
    says: 'In use, replaced, about to end, and over. The bars are asked for when a row comes into view.',
  },
  { value: 'none', group: list, label: 'No keys', says: 'What a new customer sees.', keys: 'none' },
  {
    value: 'many',
    group: list,
    label: 'More than 100 keys',
    says: 'The widget reads one page of 100 keys, and says so.',
    keys: 'many',
  },
  {
    value: 'loading',
    group: list,
    label: 'Loading',
    says: 'Until the first answer arrives.',
    isLoading: true,
  },
  {
    value: 'no-use',
    group: list,
    label: 'Use cannot be had',
    says: 'The keys are listed without their bars.',
    fails: { of: 'usage', code: 'unavailable', facts: { status: 503 } },
  },
  {
    value: 'later-list',
    group: list,
    label: 'A later list fails',
    says: 'The keys that were listed stay, and the widget tries again.',
    fails: { of: 'later list', code: 'unavailable', facts: { status: 503 } },
    refreshes: true,
  },
  {
    value: 'ended',
    group: refused,
    label: 'Session ended',
    says: 'Your page has no token, or the service refused two in a row. Your page hears keyrail-session-ended.',
    fails: { of: 'session', code: 'session_ended', facts: { status: 401 } },
  },
  {
    value: 'origin',
    group: refused,
    label: 'Origin not allowed',
    says: 'Register the origin of your page above. The console of the browser says so too.',
    fails: { of: 'session', code: 'origin_not_allowed' },
  },
  {
    value: 'misconfigured',
    group: refused,
    label: 'Wrong baseUrl or getToken',
    says: 'The console of the browser names the property and what to pass.',
    fails: { of: 'session', code: 'misconfigured' },
  },
  {
    value: 'awaited',
    group: refused,
    label: 'getToken does not answer',
    says: 'After five seconds without a token. The keys appear as soon as it comes.',
    fails: { of: 'session', code: 'token_awaited' },
  },
  {
    value: 'offline',
    group: refused,
    label: 'Offline',
    says: 'The widget tries again when the network is back.',
    fails: { of: 'session', code: 'offline' },
  },
  {
    value: 'busy',
    group: refused,
    label: 'Too many requests (429)',
    says: 'The widget waits as long as the answer says, and tries again by itself.',
    fails: { of: 'session', code: 'too_many_requests', facts: { status: 429, retryAfterS: 30 } },
  },
  {
    value: 'unavailable',
    group: refused,
    label: 'Service unavailable (503)',
    says: 'The service, or your route for tokens. The widget waits 10 seconds or as long as the answer says, and tries again.',
    fails: { of: 'session', code: 'unavailable', facts: { status: 503 } },
  },
  {
    value: 'failed',
    group: refused,
    label: 'Unexpected failure (500)',
    says: 'The reference is the id of the request in the log of the service.',
    fails: {
      of: 'session',
      code: 'internal_error',
      facts: { status: 500, requestId: 'req_opens_nothing' },
    },
  },
  {
    value: 'create',
    group: dialogs,
    label: 'Create key',
    says: 'A customer can choose the scopes that your token names.',
    opens: 'create',
  },
  {
    value: 'create-known',
    group: dialogs,
    label: 'Create key, known scopes',
    says: 'Where the project has known scopes, a customer can choose those that your token names, too.',
    knowsScopes: true,
    opens: 'create',
  },
  {
    value: 'secret',
    group: dialogs,
    label: 'New key, shown once',
    says: 'The dialog asks before it closes, until the customer says that the key is stored.',
    opens: 'secret',
  },
  {
    value: 'edit',
    group: dialogs,
    label: 'Edit key',
    says: 'A customer can choose an earlier end than yours, and no later one.',
    opens: 'edit',
  },
  {
    value: 'rotate',
    group: dialogs,
    label: 'Rotate key',
    says: 'Both keys work until the overlap ends.',
    opens: 'rotate',
  },
  {
    value: 'pause',
    group: dialogs,
    label: 'Pause key',
    says: 'A customer resumes what a customer paused. Behind the dialog, “Old shop” is paused.',
    opens: 'pause',
  },
  {
    value: 'revoke',
    group: dialogs,
    label: 'Revoke key',
    says: 'The dialog names the key, and its first characters.',
    opens: 'revoke',
  },
  {
    value: 'renewed',
    group: dialogs,
    label: 'Token refused, then renewed',
    says: 'The token ended while the form was open. The widget got another from your page, and created the key.',
    opens: 'secret',
  },
  {
    value: 'limit',
    group: forms,
    label: 'Limit of keys reached',
    says: 'A customer has SERVICE_EMBED_MAX_ACTIVE_KEYS keys that were created here. Revoke one to go on.',
    keys: 'most',
    opens: 'refused-create',
  },
  {
    value: 'form-fault',
    group: forms,
    label: 'Field not accepted',
    says: 'The service names the field that it does not accept. The form marks it until it changes.',
    fails: {
      of: 'create',
      code: 'validation_failed',
      facts: { status: 400, faults: [{ path: 'name', message: 'The playground plays this.' }] },
    },
    opens: 'refused-create',
  },
  {
    value: 'form-ended',
    group: forms,
    label: 'Session ended in a form',
    says: 'What was typed stays. Here, the next try works.',
    fails: { of: 'create', code: 'session_ended', facts: { status: 401 } },
    opens: 'refused-create',
  },
  {
    value: 'form-busy',
    group: forms,
    label: 'Too many requests in a form',
    says: 'The widget repeats no change by itself. Here, the next try works.',
    fails: { of: 'create', code: 'too_many_requests', facts: { status: 429, retryAfterS: 7 } },
    opens: 'refused-create',
  },
  {
    value: 'form-lost',
    group: forms,
    label: 'Answer lost',
    says: 'The change may have happened, so the list behind the dialog is read again.',
    fails: { of: 'create', code: 'timed_out', facts: { isOutcomeUnknown: true } },
    opens: 'refused-create',
  },
  {
    value: 'form-gone',
    group: forms,
    label: 'Key revoked elsewhere',
    says: 'You, or another person of this customer, revoked the key while the dialog was open. The list is read again.',
    fails: { of: 'rotate', code: 'key_not_active', facts: { status: 409 } },
    elsewhere: 'revoke',
    opens: 'refused-rotate',
  },
  {
    value: 'form-paused',
    group: forms,
    label: 'Key paused elsewhere',
    says: 'You paused the key while the dialog was open. The list is read again, and offers no way to resume it.',
    fails: { of: 'rotate', code: 'key_not_active', facts: { status: 409 } },
    elsewhere: 'pause',
    opens: 'refused-rotate',
  },
] as const satisfies readonly PlayedState[]

/** The state with this value; the list of keys for any other. */
export const playedState = (value: string): PlayedState =>
  playedStates.find(one => one.value === value) ?? playedStates[0]

/** For a choice of the state. A token that may not create keys opens no dialog. */
export const playedChoices = (mayWrite: boolean) =>
  [...Map.groupBy<string, PlayedState>(playedStates, ({ group }) => group)].map(([group, states]) => ({
    group,
    items: states.map(({ value, label, opens }) => ({
      value,
      label,
      disabled: opens !== undefined && !mayWrite,
    })),
  }))
