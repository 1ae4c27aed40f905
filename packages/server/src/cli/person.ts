import type { Command } from 'commander'
import { addressKey } from '../people/address.ts'
import { erasePerson, findPersonLabel, OwnedAlone, type PersonLabel } from '../people/removal.ts'
import { askText } from './ask.ts'
import { openDatabase, requireSchema, withClient } from './database.ts'
import { CommandFailed } from './failure.ts'
import { canAsk, print, printJson } from './output.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

interface Flags {
  yes?: true
  json?: true
}

export function addPersonCommand(program: Command, settings: Settings): void {
  const person = program
    .command('person')
    .summary('manage persons as the operator')
    .description('Manages persons as the operator. They sign up themselves: POST /v1/auth/users.')
  person
    .command('erase')
    .summary('erase a person for good')
    .description(
      'Erases a person for good: the account, its sessions and memberships, invitations of the address, and the\n' +
        'address kept beside every audit log. The audit chains still verify. Secret keys that the person made\n' +
        'stay: they belong to the workspace. Earlier backups still contain everything.',
    )
    .argument('<email>', 'address of the person')
    .option('--yes', 'do not ask; without a terminal this is required')
    .option('--json', 'print {"user_id", "removed": {table: rows}, "billing_address_of": [slugs]}')
    .addHelpText('after', '\nAt a terminal you type the address to confirm.')
    .action(async (email: string, flags: Flags) => {
      const config = settings.read()
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        await withClient(database.direct, async client => {
          const label = await findPersonLabel(client, addressKey(email))
          if (label === null) throw new CommandFailed('This address is unknown.')
          refuseOwnedAlone(label.ownedAlone.join(', '))
          await confirm(label, flags)
          const removed = await withProgress('Erasing', () => erasePerson(client, label.addressKey)).catch(
            error => {
              if (error instanceof OwnedAlone) refuseOwnedAlone(error.message)
              throw error
            },
          )
          report(label, removed, flags)
        })
      } finally {
        await database.close()
      }
    })
}

/** A workspace must keep an owner: the operator makes another one first, or removes the workspace. */
function refuseOwnedAlone(slugs: string): void {
  if (slugs === '') return
  throw new CommandFailed(
    `This person is the only owner of ${slugs}. Make another member an owner first, or remove the workspace:\n` +
      'keyrail workspace delete ID.',
  )
}

async function confirm({ addressKey: address }: PersonLabel, { yes }: Flags): Promise<void> {
  if (yes) return
  if (!canAsk()) throw new CommandFailed('This erases the person for good. Confirm with --yes.')
  await askText(`Erases ${address} for good. Type the address to confirm`, answer =>
    addressKey(answer) === address ? undefined : `The address is ${address}.`,
  )
}

function report({ userId, billed }: PersonLabel, removed: Record<string, number>, { json }: Flags): void {
  if (json) {
    printJson({ user_id: userId, removed, billing_address_of: billed })
    return
  }
  print(userId === null ? 'The address is erased; it had no account:' : `Person ${userId} is erased:`)
  for (const [table, rows] of Object.entries(removed)) if (rows > 0) print(`  ${table.padEnd(18)}${rows}`)
  if (billed.length > 0)
    print(
      `It is still the billing address of ${billed.join(', ')}. Change it with PATCH /v1/workspace, and run this\n` +
        'again, because the audit log of that change has the address too.',
    )
}
