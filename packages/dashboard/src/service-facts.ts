/** What the service writes into the page about itself. From its sources, the page has placeholders instead. */
const factOf = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content

type SignUp = 'first' | 'open' | 'invited' | 'closed'
const modes: readonly SignUp[] = ['first', 'open', 'invited', 'closed']

/** Who may create an account. `first`: everyone may, and there is no account yet. */
export const signUpMode: SignUp = modes.find(mode => mode === factOf('sign-up')) ?? 'open'

/** The service writes mail into a folder, because it knows no mail server. */
export const isMailInFolder: boolean = factOf('mail') === 'folder'

/** The minimum of the service; its default where it does not say. */
export const passwordLengthMin: number = Number(factOf('password-min-length')) || 12
