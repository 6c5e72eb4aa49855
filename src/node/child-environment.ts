/** What a child process is told of this one's surroundings. */

const posix: ReadonlySet<string> = new Set([
  "HOME",
  "LANG",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "TMPDIR",
  "USER",
]);

const windows: ReadonlySet<string> = new Set([
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
]);

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The few variables that programs need to run, and what the caller gives: the environment of a
 * host holds keys and tokens that a server has no business with.
 */
export function childEnvironment(
  given: Environment,
  own: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const child: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    // A value that starts like that is a function of some shell, not a value.
    if (value === undefined || value.startsWith("()")) continue;
    if (isInherited(name, platform)) child[name] = value;
  }
  for (const [name, value] of Object.entries(given)) {
    if (platform === "win32") forget(child, name);
    if (value === undefined) delete child[name];
    else child[name] = value;
  }
  return child;
}

function isInherited(name: string, platform: NodeJS.Platform): boolean {
  return platform === "win32"
    ? windows.has(name.toUpperCase())
    : posix.has(name) || name.startsWith("LC_");
}

/** `Path` and `PATH` are one variable there, and only one of two would count. */
function forget(child: Record<string, string>, name: string): void {
  for (const known of Object.keys(child)) {
    if (known.toUpperCase() === name.toUpperCase()) delete child[known];
  }
}
