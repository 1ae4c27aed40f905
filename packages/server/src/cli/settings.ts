import { type Config, ConfigError, readConfig, secretFiles } from '../config.ts'
import { warn } from './output.ts'

/** The settings of the service, as every command gets them. */
export interface Settings {
  /**
   * Reads them and warns of names that are no settings.
   * @throws {ConfigError} with all faults.
   */
  read(): Config
  /** The same for a command that reports on them: nothing is printed or thrown. */
  inspect(): { config: Config | null; faults: readonly string[]; warnings: readonly string[] }
  /** The files that hold secrets, by the setting that names them. */
  secretFiles(): [setting: string, path: string][]
}

export function settingsFrom(env: Record<string, string | undefined>): Settings {
  return {
    secretFiles: () => secretFiles(env),
    read() {
      const { config, warnings } = readConfig(env)
      for (const warning of warnings) warn(warning)
      return config
    },
    inspect() {
      try {
        return { ...readConfig(env), faults: [] }
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        return { config: null, faults: error.faults, warnings: [] }
      }
    },
  }
}
