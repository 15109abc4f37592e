import { count, number, relative } from '../format';

const points = (n: number) => count(n, 'point', 'points');

export const en = {
  points,
  menu: { label: 'Menu', screens: 'Screens', deployments: 'Deployments', apps: 'Apps', points: 'Points', campaigns: 'Campaigns', domains: 'Domains', market: 'Ads', extras: 'Shop and learning', account: 'Account', log_out: 'Log out', language: 'Language' },
  frame: {
    skip: 'Skip to the content', path: 'Where this page is', loading: 'Loading', again: 'Try again', cancel: 'Cancel', dismiss: 'Dismiss', pages: 'Pages', table: (name: string) => `Table: ${name}`,
    page: (page: number) => `Page ${number(page)}`, entries: (n: string, at_least: boolean) => `${at_least ? 'more than ' : ''}${n} ${n === '1' ? 'entry' : 'entries'}`,
    page_of: (page: number, of: number) => `Page ${number(page)} of ${number(of)}`, previous: 'Previous', next: 'Next',
    copy: (what: string) => `Copy: ${what}`, copied: (what: string) => `${what}: copied.`, not_copied: 'The browser didn’t allow copying. Select the text and copy it yourself.',
    type_to_confirm: (word: string) => `Type “${word}” to confirm`,
    simulated: 'This cluster is simulated: no container really runs.',
  },
  errors: {
    heading: 'This couldn’t be loaded', unexplained: (status: number) => `The server answered with the status ${status}`,
    unloaded: 'This part of the console couldn’t be loaded. The server may have been updated, or it can’t be reached. Load the page again.',
    unreachable: 'The server can’t be reached. Check the connection; nothing that you typed is lost',
    insecure: 'The console works only over https, or on the machine that berthd runs on. Ask the platform’s admin for an address that begins with https.',
    offline: 'The server can’t be reached. What you see may be out of date; nothing that you typed is lost.',
    limited: (seconds: number) => `Too many requests in a short time. The next one is possible in ${count(seconds, 'second', 'seconds')}.`,
    field: (text: string) => (text ? text[0]!.toUpperCase() + text.slice(1).replace(/\.?$/, '.') : text),
  },
  expired: {
    heading: 'Your login has ended', text: 'Log in again in a new tab, then come back to this one. Everything that you typed here is still there.',
    log_in: 'Log in', done: 'I have logged in', not_yet: 'You aren’t logged in yet.',
  },
  lost: { heading: 'There is no such page', again: 'Nothing is at this address', text: 'The address may be mistyped, or what it led to may be gone.', back: 'All deployments' },
  palette: { open: 'Find', shortcut: 'Ctrl K', label: 'Find a deployment, an app or a screen', action: 'Action', deployment: 'Deployment', app: 'App', screen: 'Screen', nothing: 'Nothing has this name.' },
  status: { pending: 'Pending', deploying: 'Deploying', running: 'Running', stopped: 'Stopped', errored: 'Failed', destroyed: 'Deleted' },
  steps: {
    label: 'Steps until it runs', created: 'Created', pulling: 'Image', starting: 'Start', probing: 'Check', running: 'Running',
    states: { done: 'done', now: 'in progress', failed: 'failed' } as Record<string, string>,
  },
  overview: {
    heading: 'Deployments', create: 'New deployment', search: 'Filter by name, image, status or app', none_found: 'No deployment matches.',
    summary: (all: number, troubled: number) => count(all, 'deployment', 'deployments') + (troubled ? `, ${number(troubled)} failed` : ''),
    not_live: 'connecting to live updates …', deployed: 'Deployed',
    size: (tier: string, memory: string, cpu: string) => `${tier} · ${memory} · ${cpu} CPU`,
    no_app: 'Begin with an app', no_app_text: 'Deployments belong to an app, which also has the points that pay for them. Create one; it takes a minute.',
    not_able: 'Your app awaits approval', not_able_text: 'An admin of this platform decides whether an app may run deployments. This page changes by itself once that is done.',
    see_app: 'Look at the app', nothing: 'Nothing runs yet', nothing_text: 'Give berth an image and a name. It pulls the image, starts the container, gives it an address, and shows each step here.',
  },
  first_steps: {
    heading: 'First steps', hide: 'Hide the first steps', done: 'done', count: (done: number, all: number) => `${done} of ${all} done`,
    account: { title: 'Verify your email address', text: 'Open the link in the mail that we sent you.', action: 'Send it again' },
    app: { title: 'Create an app', text: 'Deployments belong to an app, and so do the points that pay for them.', action: 'Create an app' },
    approval: { title: 'Have the app approved', text: 'An admin of the platform approves what an app may do. You are told here as soon as it is decided.', action: 'Look at the request' },
    deployment: { title: 'Run your first container', text: 'An image and a name are enough. You can watch each step until it runs.', action: 'New deployment' },
    domain: { title: 'Give it your own domain', text: 'Set two records in your DNS; the certificate comes by itself.', action: 'Add a domain' },
    spend: { title: 'Spend your first points', text: 'Send points to a friend, or spend them in an app.', action: 'See your points' },
  },
  create: {
    heading: 'New deployment', what: 'What to run', app: 'App', image: 'Image', image_hint: 'From one of the platform’s registries, with a tag or a digest.',
    image_simulated: 'On this simulated cluster the name decides what happens: hello runs; crash, oom, missing and wrong-port fail; talking writes a long log.',
    name: 'Name', name_hint: 'Small letters, digits and hyphens; it becomes a part of the address.', port: 'Port', port_hint: 'The port that the container listens on, 1024 or above.',
    size: 'Size and price', more: 'More, if you need it', domain: 'Custom domain', domain_hint: 'A host name of your own. The records to set are shown next.',
    no_domain: (tier: string) => `The tier ${tier} has no custom domains.`,
    health: 'Health path', health_hint: 'A path that answers when the container is ready. Without it, an open port is enough.',
    username: 'Registry user', password: 'Registry password', credentials_hint: 'Only for private images. Stored encrypted.',
    cost: 'What it costs', now: 'Charged now', balance: 'The app has', each_period: 'For each 30 days', free: 'Free',
    short: (missing: string) => `The app needs ${missing} more points for the first 30 days.`,
    refused: 'It wasn’t created', submit: 'Create and start', sending: 'Creating …', refund: 'You can stop or delete it at any time; a paid period isn’t refunded.',
  },
  tiers: {
    choose: 'Tier', price: (n: number) => `${points(n)} / 30 days`, size: (memory: string, cpu: string) => `${memory} memory, ${cpu} CPU`,
    domain: 'Custom domains', no_domain: 'No custom domain', by_admin: 'After an admin has promoted the app', used_up: 'You have as many as you may have',
  },
  variables: {
    heading: 'Variables', none: 'No variables', none_text: 'The container gets what you set here as its environment.', hidden: 'value hidden',
    sealed: 'Values are stored encrypted and are never shown again.', rollout: 'A change replaces the container; the old one serves until the new one is ready.',
    add: 'Add a variable', paste: 'Or paste a .env file', paste_hint: 'If you paste several lines into a name, each line becomes a variable.', value: 'value',
    name_of: (n: number) => `Name of variable ${n}`, value_of: (name: string | number) => `Value of ${typeof name === 'number' ? `variable ${name}` : name}`,
    remove: (name: string) => `Remove ${name}`, remove_short: 'Remove', replace: (name: string) => `New value for ${name}`,
    set: 'Set variables', save: (n: number) => (n ? `Save ${count(n, 'variable', 'variables')}` : 'Save'), saved: 'Saved. The container is being replaced.',
  },
  deployment: {
    tabs: { label: 'Parts of the deployment', overview: 'Overview', logs: 'Logs', history: 'History', variables: 'Variables', domain: 'Domain', settings: 'Settings' },
    words: 'What the cluster says', more: 'More actions', facts: 'Details', tier: 'Tier', cpus: (n: string) => `${n} CPU`, domain: 'Domain', app: 'App', node: 'Node', created: 'Created', id: 'ID',
    start: 'Start', restart: 'Restart', stop: 'Stop', rollback: 'Roll back', delete: 'Delete',
    restart_title: (name: string) => `Restart ${name}?`, restart_text: 'The image is pulled again and a new container replaces the present one, which serves until the new one is ready.',
    stop_title: (name: string) => `Stop ${name}?`, stop_text: 'The container ends, and its address answers no more. You can start it again; while it is stopped, no new period is charged.',
    rollback_title: (name: string) => `Roll ${name} back?`, rollback_text: 'It goes back to the image, the port and the variables of the last rollout that ran before this one.',
    delete_title: (name: string) => `Delete ${name}?`, delete_text: 'The container and its address are gone for good, and the name is free for others at once. Nothing is refunded.',
    deleted: (name: string) => `${name} was deleted.`, gone: 'This deployment isn’t there', gone_text: 'It was deleted, or it belongs to another account.',
  },
  metrics: { heading: 'Now', again: 'Measure again', cpu: 'CPU', memory: 'Memory', of_cpu: (limit: string) => `of ${limit} mCPU`, of_memory: (limit: string) => `of ${limit} MiB`, restarts: 'Restarts', requests: 'Requests' },
  plots: {
    heading: 'Over time', window: 'How far back', windows: { hour: '1 hour', day: '24 hours', week: '7 days', month: '30 days' }, again: 'Read again', latest: 'latest',
    cpu: 'CPU in mCPU', memory: 'Memory in MiB', requests: 'Requests', latency: 'Response times in ms', restarts: 'Restarts and replicas', replicas: 'Replicas',
    not_measured: 'Nothing was measured in this time. The first values are there a minute after the start.', explained: 'Dashed lines show the tier’s limit and the rollouts. The values of each minute are kept for 24 hours, those of each quarter of an hour for 30 days.',
    label: (name: string, least: string, most: string, limit: string, rollouts: number) => `${name}, from ${least} to ${most}${limit ? `, with a limit of ${limit}` : ''}, with ${count(rollouts, 'rollout', 'rollouts')}`,
  },
  billing: {
    heading: 'Billing', period: 'Period', next: 'Next charge', none: 'None', balance: 'The app has', stops: 'Stops if unpaid', charges: 'Charges',
    states: { current: 'Paid', warning: 'Points will be missing', suspended: 'Points are missing', exempt: 'Free' },
    kinds: { charge: '30 days', tier_change: 'change of tier' },
  },
  history: {
    heading: 'History', latest: 'Latest events', all: 'Show all', you: 'you', member: 'somebody of the app', berth: 'berth',
    states: { started: 'Started', succeeded: 'Done', failed: 'Failed', info: 'Note' },
    action: (action: string, kind: string) => {
      const names: Record<string, string> = {
        create: 'Created', deploy: 'Rolled out', stop: 'Stopped', restart: 'Restarted', destroy: 'Deleted', suspend: 'Suspended', reactivate: 'Started again',
        billing_warning: 'Points will be missing', billing_failed: 'Points were missing',
      };
      const kinds: Record<string, string> = { patch: 'after a change', rollback: 'rolled back', restart: 'after a restart', create: 'for the first time' };
      return (names[action] ?? action) + (action === 'deploy' && kinds[kind] ? `, ${kinds[kind]}` : '');
    },
    domain: (state: string) => `Custom domain: ${state.toLowerCase()}`, changed: 'Changed', overtaken: 'Overtaken', back_to_this: 'Back to this', back_title: 'Go back to this rollout?', back_text: (image: string) => `The container is replaced by one of ${image || 'that rollout'}, with the port and the variables of that time.`,
  },
  logs: {
    label: 'Output of the container', search: 'Search the log', pause: 'Pause', go_on: 'Go on', previous: 'Previous run', download: 'Download',
    lines: (n: number) => count(n, 'line', 'lines'), found: (n: number, of: number) => `${number(n)} of ${count(of, 'line', 'lines')}`,
    nothing_found: 'No line has these words.', waiting: 'Waiting for the first line …', ended_empty: 'There is no output.',
  },
  days: { window: 'Days', days: (n: number) => `${number(n)} days`, day: 'Day (UTC)', table: (n: number) => (n ? `The days on which points moved (${number(n)})` : 'On none of these days points moved') },
  domains: {
    add: 'Add a domain',
    text: 'Host names of your own that lead to your deployments.', none: 'No custom domain yet', none_text: 'Add one: you are shown the DNS records to set, and the certificate comes by itself.',
    none_possible: 'None of your deployments is on a tier with custom domains. Choose another tier in the settings of a deployment.',
  },
  domain: {
    heading: 'Custom domain', name: 'Domain', hint: 'A host name such as www.example.com, which you can set DNS records for.', add: 'Add the domain',
    not_on: (tier: string) => `The tier ${tier} has no custom domains`, not_on_text: 'With another tier, the deployment can be served under a host name of your own, with a certificate that berth renews.', change_tier: 'Choose another tier',
    states: { waiting_for_dns: 'Waiting for your DNS', issuing: 'Getting a certificate', active: 'Served', failed: 'Failed' },
    records: 'DNS records to set', type: 'Type', record_name: 'Name', value: 'Value', checked: 'Checked', not_checked: 'Not checked yet', expires: 'the certificate lasts until',
    check_now: 'Check now', looking: 'berth looks at the records now.', release: 'Remove the domain', release_title: (name: string) => `Remove ${name}?`,
    release_text: 'The deployment is no longer served under this domain. Somebody else who proves that it is theirs can use it then.',
    txt: {
      apex: 'The TXT record is needed because this is a registered domain itself.', domain_used_before: 'The TXT record is needed because another account used this domain before.',
      name_used_before: 'The TXT record is needed because another account used this deployment’s name before.',
    },
  },
  settings: {
    container: 'Container', image_hint: 'Another tag or digest rolls out a new version.', save: 'Save and roll out', rolling: 'Saved. A new container is on its way.',
    tier_hint: 'A larger tier charges the difference for the rest of the period, a smaller one gives it back.', change_tier: 'Change the tier', end: 'Delete this deployment',
  },
  apps: {
    create: 'Create an app', text: 'An app owns deployments, has points of its own, and is what its users log in to.', none: 'No app yet',
    none_text: 'Create one to run containers, or to let people log in to your game or site with their account here.', approved: 'May deploy', waiting: 'Awaits approval',
    counts: (deployments: number, users: number) => `${count(deployments, 'deployment', 'deployments')} · ${count(users, 'user', 'users')}`,
  },
  app: {
    one: 'App', tabs: { label: 'Parts of the app', overview: 'Overview', points: 'Points and users', webhooks: 'Webhooks', settings: 'Settings' }, public: 'None: this is a public client.',
    name: 'Name', name_hint: 'People see it when the app asks for access.', description: 'Description', optional: 'Optional; people see it when the app asks for access.',
    scopes: 'What the app may do', redirects: 'Redirect URIs', redirects_hint: 'One on each line. Needed only if people log in to the app; leave it empty otherwise.',
    made: 'Your app’s keys', once: 'This secret is shown once. Keep it where only your app can read it.', client_id: 'Client ID', secret: 'Secret', saved: 'I have saved it',
    ask: 'Ask for more', granted: 'Approved', not_granted: 'Not approved', requests: 'Requests', no_requests: 'Nothing was asked for.', withdraw: 'Withdraw',
    states: { pending: 'Waiting', approved: 'Approved', rejected: 'Rejected', withdrawn: 'Withdrawn' },
    details: 'Details', save: 'Save', changed: 'Saved.', identity: 'Identity', users: 'Users', rotate: 'New secret', rotate_title: 'Make a new secret?',
    rotate_text: 'The old secret stops working, at once or after the time that this platform grants. Tokens that were given out stay valid.', new_secret: 'The new secret',
    delete: 'Delete the app', delete_title: (name: string) => `Delete ${name}?`, delete_text: 'Its users are disconnected, and its points go to the platform. It must not have deployments or campaigns any more.',
    waiting: 'Deployments await an admin’s approval', waiting_text: 'An admin of the platform decides what the app may do. This page changes by itself once that is done.',
    approve_here: 'On a berth of your own, that admin is you. Run this where berthd runs:', command: 'Command', gone: 'This app isn’t there', gone_text: 'It was deleted, or it belongs to another account.',
  },
  app_settings: {
    website: 'Website', logo: 'Logo', listed: 'List the app among the platform’s operators', listed_hint: 'Anybody can see its name, description and website then.', login: 'Login with the app', end: 'Delete this app',
    redirects_hint: 'One on each line. After a login, browsers are sent back to one of them.', origins: 'Origins of its pages', origins_hint: 'One on each line, such as https://www.example.com. Pages of these origins may call the API from a browser.',
    session_tokens: 'Take session tokens', session_tokens_hint: 'With them the app can act as its users in chat, friends and presence. Without, the consent page doesn’t ask for that.',
    refresh: 'Refreshing a token needs the secret', refresh_hint: 'For apps whose secret stays on a server.', scopes: 'Scopes that it may ask for', scopes_hint: 'Admins decide about new ones; one that you take away loses its approval.',
  },
  app_points: {
    figures: (days: number) => `The last ${days} days`, users: 'Users', active: 'Used it today', retention: 'Came back within 7 days', spends: 'Purchases', earnings: 'Earned from users and ads', awards: 'Gifts of the platform', balance: 'Balance by day',
    text: 'The points of an app come from what users spend in it, from ads that it shows, and from admins; deployments and campaigns are paid from them. The charges of each deployment are on its page.',
  },
  webhooks: {
    text: 'berth posts what happens to this app to a URL of yours, signed as the Standard Webhooks specification says.', create: 'New webhook', none: 'No webhook yet', none_text: 'With a webhook your own systems hear at once when a deployment fails or points are missing.',
    url: 'URL', url_hint: 'An https URL with a public address.', events: 'Events',
    types: {
      'deployment.status': 'Status of a deployment', 'deployment.domain': 'State of a domain', 'billing.warning': 'Points will be missing', 'billing.failed': 'Points are missing', 'billing.reactivated': 'Paid and started again',
      'scope_request.decided': 'A scope request was decided', 'campaign.exhausted': 'A campaign’s budget is spent', 'campaign.ended': 'A campaign has ended',
    },
    test: 'Send a test', tested: 'A test is on its way.', more: (url: string) => `More about ${url}`, change: 'Change the webhook', delete: 'Delete the webhook', delete_title: 'Delete this webhook?', delete_text: (url: string) => `Nothing is sent to ${url} any more, and what waits is dropped.`,
    rotate_text: 'The new secret signs everything from now on, also what waits; the old one signs nothing more. Your receiver refuses deliveries until it knows the new one.', secret: 'Signing secret', once: 'This secret is shown once. Your receiver needs it to check that a delivery comes from here.',
    deliveries: 'Deliveries', no_deliveries: 'Nothing was sent within the last three days.', kept: 'The last three days, newest first', look_again: 'Look again', state: 'State', event: 'Event', attempts: 'Attempts', answer: 'Answer', next: 'tried again',
    states: { waiting: 'Waiting', delivered: 'Delivered', failed: 'Given up' },
  },
  points_screen: {
    balance: 'Balance', unit: 'points', plot: (from: string, to: string) => `The balance over time, from ${from} to ${to} points`, earn: 'All in all', earned: 'Earned', spent: 'Spent', referrals: 'Friends invited',
    referral: 'Friends who sign up with your code earn points for you, once they use berth.', code: 'Referral code', history: 'History', direction: 'Direction', all: 'All', in: 'In', out: 'Out', kind: 'Kind', from: 'From', until: 'Until',
    what: 'What', with: 'With', when: 'When', none: 'No points have moved yet', none_text: 'What you earn and spend is listed here.', none_found: 'Nothing matches', none_found_text: 'No movement of points fits these filters.',
    send: 'Send points', to: 'To the user', amount: 'Points', why: 'What for', sent: (amount: string, to: string) => `${amount} points were sent to ${to}.`,
  },
  account: {
    current_password: 'Present password', new_password: 'New password', password_hint: 'At least 8 characters. A few random words are easy to remember and hard to guess.', change_password: 'Change the password', password_changed: 'Your password was changed.', end_others: 'End everything else', end_others_hint: 'All other sessions, and the access of programs and apps. Connected apps have to ask you again.',
    mail_again: 'Send the mail again', mailed: 'A mail is on its way.', on: 'On', off: 'Off', new_codes: 'New recovery codes', new_codes_text: 'The codes that you have now stop working.', turn_off: 'Turn it off', turn_on: 'Turn it on', with_qr: 'Set up with a QR code', set_up_factor: 'Set up the second factor',
    secret_text: 'Enter this secret into an authenticator on your phone, then enter the code that it shows, and your password.', open_authenticator: 'Open it in an authenticator on this device', turn_off_title: 'Turn the second factor off?', turn_off_text: 'Logging in asks only for your password then. Whoever knows it can log in.', turned_off: 'The second factor is off.', or_recovery: 'Or a recovery code.',
    codes: 'Recovery codes', codes_text: 'Each of these codes works once in place of your authenticator. They are shown only now: keep them where you find them without your phone.', copy_codes: 'All ten codes',
    daily_limit: 'Points that it may spend in a day', daily_limit_hint: 'Empty: as many as you have. Days begin at midnight UTC.', session_access: 'In chat, friends and presence it may', access: { full: 'act as you', read: 'only read' }, session_access_hint: 'This applies at once, also to access that it has already.', limits_of: (app: string) => `Limits of ${app}`, more_of: (app: string) => `More about ${app}`,
    delete_title: 'Delete your account?', delete_more: 'Your apps and your points are gone as well; deployments and campaigns have to be ended before. Nobody can undo this.',
    profile: 'Profile', username: 'Username', username_hint: '2 to 32 letters, digits, _, - and .', email: 'Email', verified: 'Verified', unverified: 'Not verified', rename: 'Change the name', renamed: 'Your username was changed.',
    change_email: 'Change the address', new_email: 'New address', new_email_hint: 'It changes once you have opened the link that we send there. The present address is told.', email_asked: 'A mail is on its way to both addresses.',
    password: 'Password', factor: 'Second factor', factor_on: 'Logging in asks for a code of your authenticator.', factor_off: 'Logging in asks only for your password.', set_up: 'Set up',
    delete: 'Delete the account', delete_text: 'Your name and address are removed for good.',
    sessions: 'Where you are logged in', since: 'since', this_one: 'This browser', end: 'End', end_of: (device: string, address: string) => `End the session of ${device} from ${address}`, ended: 'The session has ended.', unknown_device: 'Unknown program',
    devices: 'Programs that have logged in', no_devices: 'No program has logged in', no_devices_text: 'The client berth on your computers is listed here after its login.', end_device_of: (name: string) => `Disconnect ${name}`, device_ended: 'The program was disconnected.', unknown_place: 'unknown address',
    connected: 'Connected apps', limits: 'Limits', none_connected: 'No app has access', none_connected_text: 'Apps that you log in to with this account are listed here.', used: 'last used', never: 'never',
    today: (spent: string, limit: string | null) => (limit === null ? `${spent} points spent today` : `${spent} of ${limit} points spent today`),
    disconnect: 'Disconnect', disconnect_of: (app: string) => `Disconnect ${app}`, disconnect_text: 'The app loses its access at once. You can allow it again when it asks.',
  },
  campaigns: {
    text: 'Ads of your app, shown in other apps, which are paid for each impression.', create: 'New campaign', none: 'No campaign yet', none_text: 'A campaign has a budget of the app’s points, and ends when that is spent.',
    not_able: 'No app may run campaigns', not_able_text: 'Ask for the scope campaigns:manage on the page of an app; an admin of the platform decides.',
    surface: 'Kind of ad', surfaces: { banner: 'Banner', video: 'Video', interstitial: 'Interstitial', native: 'Native', rewarded: 'Rewarded' }, total: 'Payment', total_hint: 'From the app’s points; 90 % of it become the budget.', rate: 'For an impression', rate_hint: 'Points, at least 1.',
    starts: 'Starts', starts_hint: 'Empty: at once.', ends_hint: 'Empty: once the budget is spent.', targeting_hint: 'Empty: for everybody. Several are separated by commas.', results: 'Results', click_rate: 'Click rate', budget: 'Budget', remaining: 'Left', rake: 'Share of the platform', refunded: 'Given back', with_budget: 'with its budget', no_days: 'Nobody has seen it yet.', gone_text: 'It belongs to another account, or there never was one.',
    impressions: 'Impressions', clicks: 'Clicks', spent: 'Spent', of: (budget: string) => `of ${budget}`, ends: 'Ends', plot: (name: string) => `What ${name} spent on each day`,
    states: { active: 'Active', paused: 'Paused', exhausted: 'Spent', cancelled: 'Ended' }, pause: 'Pause', go_on: 'Go on', top_up: 'Top up', top_up_title: (name: string) => `Top ${name} up`, cancel: 'End', cancel_title: (name: string) => `End ${name}?`,
    cancel_text: (remaining: string) => `It can’t be started again. What is left of the budget, ${remaining} points, goes back to the app.`, cancelled: (points: string) => `The campaign has ended; ${points} points went back to the app.`,
  },
  market: {
    tabs: { label: 'Parts of the market', campaigns: 'Campaigns', places: 'Places and prices', packages: 'Packages', audiences: 'Audiences' },
    rates: 'Present rates for an impression', rate: 'Now', base: 'Base', least: 'Least', most: 'Most', demand: 'Demand', places: 'Places for ads', no_places: 'No place yet', no_places_text: 'Places are where apps show ads. The platform’s admins set them up.',
    no_packages: 'No package is on sale', no_packages_text: 'Packages give a discount to those who buy many impressions at once.', off: (percent: string) => `${percent} % off`, needs: (kinds: number, impressions: number) => `From ${count(impressions, 'impression', 'impressions')} in ${count(kinds, 'kind', 'kinds')} of ads`,
    buy: 'Buy', buy_title: (name: string) => `Buy ${name}`, buy_text: (kinds: string, impressions: string, percent: string) => `At least ${impressions} impressions in at least ${kinds} of the kinds below, at a discount of ${percent} %. A campaign is created for each kind, and paid now from the app’s points.`,
    campaigns_name: 'Name of the campaigns', campaigns_name_hint: 'Then fill in how many impressions you want of each kind; leave the others empty.', each: (points: string) => `${points} points each`, bought: (points: string) => `Bought for ${points} points. The campaigns are running.`,
    purchases: 'Purchases', no_purchases: 'Nothing was bought yet.', package: 'Package', discount: 'Discount', paid: 'Paid', states: { completed: 'Bought', refunded: 'Refunded' }, campaign_of: (n: number) => `Campaign ${n} of this purchase`,
  },
  audiences: {
    create: 'New audience', none: 'No audience yet', none_text: 'An audience names whom ads are for: a kind of game, a tier of players, a place.', game_type: 'Kind of game', play_tier: 'Tier of the player', geography: 'Country or region', any: 'any', any_hint: 'Empty: any. At least one of the three is needed.',
  },
  placements: {
    heading: 'Where it is shown', none: 'The campaign is shown wherever ads of its kind are. Add a place to choose.', none_fits: 'There is no place for this kind of ad, though.', add: 'Add a place', place: 'Place', budget: 'Share of the budget', budget_hint: 'Points, enough for one impression.', target: 'Impressions', target_hint: 'Empty: as many as its share pays for.',
    delivered: 'Delivered', viewers: 'For whom', everybody: 'everybody', states: { active: 'Active', paused: 'Paused', depleted: 'Reached' }, modes: { exact: 'is', prefix: 'begins with', any: 'is anything' }, more: (name: string) => `More about ${name}`,
    change: 'Change share and target', aim: 'Choose viewers', audience: 'Use an audience', aim_text: 'Conditions about the same attribute are alternatives; conditions about different ones must all hold. A condition can’t be taken away; remove the place and add it again instead.', attribute: 'What is compared', match: 'How',
    match_modes: { exact: 'It has to be the value', prefix: 'It has to begin with the value', any: 'It may be anything' }, value_hint: 'Such as DE. Not needed if it may be anything.', remove: 'Remove the place', remove_title: (name: string) => `Remove ${name}?`, remove_text: 'The campaign isn’t shown there any more. What is left of its share stays with the campaign.',
  },
  lists: {
    none: 'Nothing here yet', change: (name: string) => `Change ${name}`, yes: 'Yes', no: 'No', active: 'In use', any_app: 'any app', app_id: 'ID of the app', app_id_hint: 'Empty: any app may show ads there.', new_place: 'New place', prices: 'Prices of places', new_price: 'New price', no_prices: 'Places without a price take ads at any rate.',
    valid: 'Valid', from: 'Valid from', until: 'Valid until', new_package: 'New package', discount: 'Discount in percent', min_surfaces: 'Kinds of ads, at least', min_impressions: 'Impressions, at least',
  },
  tier_form: {
    text: 'What operators can choose for a deployment. A change applies to deployments that move to the tier from then on, a price from each deployment’s next period.', create: 'New tier', slug: 'Short name', slug_hint: 'Used in requests. It can’t be changed later.', method: 'Paid in', methods: { service_points: 'points', bitcoin: 'bitcoin (listed, but can’t be used)' },
    price: 'Points for 30 days', price_hint: '0: it is free.', sats: (sats: string) => `${sats} sats`, size: 'Size', memory: 'Memory in MiB', cpu: 'CPU in thousandths', max: 'Deployments of an account', max_hint: 'Empty: any number.', no_limit: 'any', stipend: 'Points for the owner', stipend_hint: 'Paid every 30 days.', reach: 'Weight of ads', reach_hint: 'Such as 1.0; a larger one shows the owner’s ads more often.',
    domains: 'Custom domains', automatic: 'Without approval', columns: { max: 'At most', domains: 'Domains', automatic: 'Open' }, automatic_hint: 'Any app can use it; otherwise an admin promotes apps to it.',
  },
  shop: {
    create: 'New item', none: 'The shop is empty', none_text: 'Items are bought with points and worn by avatars.', none_here: 'Items for your avatar are listed here as soon as the platform offers some.', category: 'Kind', rarity: 'Rarity', price: 'Price in points', available: 'On sale', asset: 'URL of its picture or model',
    categories: { hat: 'Hat', hair: 'Hair', top: 'Top', bottom: 'Bottom', shoes: 'Shoes', accessory: 'Accessory', background: 'Background', frame: 'Frame', emote: 'Emote' }, rarities: { common: 'Common', uncommon: 'Uncommon', rare: 'Rare', legendary: 'Legendary' },
    owned: 'Yours', gone: 'Not on sale', give: 'Give', give_title: (name: string) => `Give ${name} to somebody`, buy_title: (name: string) => `Buy ${name}`, buy_text: (price: string, balance: string) => `It costs ${price}; you have ${balance}.`, bought: (name: string) => `${name} is yours.`, given: (name: string, to: string) => `${name} was given to ${to}.`,
  },
  learning: {
    create: 'New module', none: 'No module yet', none_text: 'Modules teach people something, and completing one earns points.', none_here: 'What you can learn is listed here as soon as the platform offers something.', title: 'Title', steps: 'Steps', points: 'Points', repeats: 'Repeated', once: 'pays once', after: (seconds: string) => `after ${seconds} s`,
    number: 'Place in the order', number_hint: 'Empty: the last.', least: 'Seconds before steps count', repeat: 'Seconds until it pays again', repeat_hint: 'Empty: it pays once.', progress: 'Progress', of: (done: number, all: number) => `${number(done)} of ${count(all, 'step', 'steps')}`, again: 'Again', locked: 'after the one before', path: 'Path', path_name: 'Your learning path', path_hint: 'A name that your apps know, in small letters.',
  },
  extras: {
    text: 'What apps show of you and offer to you, wherever you play.', tabs: { shop: 'Shop', avatar: 'Avatar', learning: 'Learning' }, avatar: 'Your avatar', display_name: 'Name', display_name_hint: 'At most 20 characters, shown instead of your username; empty: none.', wears: 'What it wears', no_items: 'You have no items yet. The shop has some.', items: 'Items', items_hint: 'At most one of each kind.', no_user: 'There is no such user',
  },
  components: {
    heading: 'Components', about: 'The components that screens are made of, in all states. For those who work on the console.', badge: 'Badge', note: 'Show a note', noted: 'This is a note.', tabs: 'Samples', one: 'One', two: 'Two', buttons: 'Buttons', main: 'Main action', other: 'Another', danger: 'Dangerous', final: 'Final', plain: 'Plain', with_icon: 'With an icon', icon_only: 'An icon alone', slim: 'Slim', busy: 'Busy', disabled: 'Disabled', link: 'A link', menu: 'Menu',
    badges: 'Badges, times, copying', still: 'still', tag: 'Tag', copied: 'ID', banners: 'Banners', banner: 'What happened', hint: 'A sentence that helps.', refused: 'The request was refused.', wrong: 'is too long', form: 'Form', send: 'Send', text: 'Text', number: 'Number', choice: 'Choice', time: 'Time', long: 'Long text', lines: 'A list', many: 'Several', check: 'A switch',
    figures: 'Figures and a plot', meter: 'How much is used', plot: 'A balance over thirty days', facts: 'Facts', dialogs: 'Dialogs', confirm: 'Ask before something is done', waiting: 'Waiting', icons: 'Icons', table: 'Table', empty: 'Nothing here', rows: 'A long list', row: (n: string) => `Row ${n}`,
  },
  audit_action: (action: string) => {
    const names: Record<string, string> = {
      'points.mint': 'Minted points', 'scope_request.approve': 'Approved a scope request', 'scope_request.reject': 'Rejected a scope request', 'app.promote': 'Promoted an app', 'app.revoke_scopes': 'Took scopes away', 'app.suspend': 'Suspended an app', 'app.reactivate': 'Reactivated an app',
      'deployment.suspend': 'Suspended a deployment', 'deployment.reactivate': 'Reactivated a deployment', 'user.promote': 'Changed an account', 'user.make_admin': 'Made somebody an admin', 'user.unmake_admin': 'Took an admin’s rights away', 'user.suspend': 'Suspended an account', 'user.end_sessions': 'Ended an account’s sessions', 'user.reactivate': 'Reactivated an account', 'tier.create': 'Created a tier', 'tier.change': 'Changed a tier',
      'chat.set_words': 'Changed the word list', 'chat.delete_message': 'Deleted a message', 'session_key.rotate': 'Made a new session key', backup: 'Made a backup',
    };
    const things: Record<string, string> = { ad_package: 'a package of ads', ad_placement: 'a place for ads', ad_pricing: 'a price for ads', ad_segment: 'an audience', cosmetic: 'an item of the shop', learning_module: 'a module' };
    const verbs: Record<string, string> = { create: 'Created', change: 'Changed' };
    const [thing, verb] = action.split('.') as [string, string | undefined];
    return names[action] ?? (things[thing] && verbs[verb ?? ''] ? `${verbs[verb ?? '']} ${things[thing]}` : action.replace(/[._]/g, ' '));
  },
  admin: {
    heading: 'Administration', only: 'This part is for admins', only_text: 'An admin of the platform can give you these rights.', need_factor: 'Admins need a second factor', need_factor_text: 'Set up an authenticator for your account, then come back.', set_up: 'Set up an authenticator',
    prove: 'Prove that it is you', prove_text: 'Enter a code of your authenticator. It counts for 15 minutes.', code: 'Code', go_on: 'Go on',
    tabs: { requests: 'Scope requests', apps: 'Operators’ apps', deployments: 'Suspensions', users: 'Users', economy: 'Economy', tiers: 'Tiers', market: 'Ad market', shop: 'Shop', learning: 'Learning', words: 'Word list', audit: 'Audit log', fleet: 'Fleet' },
    no_requests: 'No request is waiting', no_requests_text: 'What apps ask for is listed here.', asks: (owner: string) => `asked for by ${owner}`, approve: 'Approve', reject: 'Reject', reject_title: (app: string) => `Reject the request of ${app}?`, reason: 'Reason, which the operator reads', approved: 'The request was approved.',
    find: 'Find by name or email address', user: 'User', joined: 'Joined', suspended: 'Suspended', admin: 'Admin', suspend: 'Suspend', reactivate: 'Reactivate', suspend_title: (name: string) => `Suspend ${name}?`, suspend_text: 'Their sessions and tokens end at once. After you reactivate the account, they log in again.', end_sessions: 'End all sessions', end_sessions_title: (name: string) => `End all sessions of ${name}?`, end_sessions_text: 'Their logins, and the tokens of programs and apps that act for them, end at once. They are told by mail and can log in again.', sessions_ended: (name: string) => `All sessions and tokens of ${name} have ended.`, no_users: 'Nobody has this name.',
    treasury: 'In the treasury', minted: 'Points in all', mint: 'Mint points', kind: 'For', treasury_kind: 'the treasury', user_kind: 'a user', app_kind: 'an app', id: 'Its ID', minted_now: 'The points were minted.', ledger: 'Ledger', check: 'Check the ledger', holds: 'Passed', sound: 'All checks hold', unsound: 'A check fails',
    action: 'Action', actor: 'Who', target: 'Target', find_in_audit: 'Filter', reason_column: 'Reason', actor_hint: 'internal, user:…', action_hint: 'points.mint, …', export: 'Export as CSV', exporting: 'Reading …', nothing: 'Nothing was done yet', nothing_text: 'Everything that an admin does is listed here.', more_of: (name: string) => `More about ${name}`, owner: 'Owner', none_of_these: 'There are none', deleted_app: 'A deleted app',
    is_admin: 'Is an admin', is_admin_hint: 'An admin can do everything that is listed here, once they have a second factor.', change_user: 'Change', change_title: (name: string) => `Change the account of ${name}`, id_hint: 'Of the user or the app; empty for the treasury.',
    treasury_days: 'Treasury by day', minted_that_day: 'Minted', supply: 'All points', ledger_text: 'Checks that no point was lost or came from nowhere.', find_app: 'Find by the beginning of a name, by owner or ID', apps_text: 'The apps of all operators, newest first, with what they may do.', no_apps_text: 'No app has this name, owner or ID.', promoted_to: 'Promoted to',
    promote: 'Promote to a tier', promote_title: (app: string) => `Promote ${app}`, promote_text: 'The app may then have deployments on this tier. Deployments that it has stay on theirs.', promoted: (app: string) => `${app} was promoted.`, revoke: 'Take scopes away', revoke_title: (app: string) => `Take scopes from ${app}?`, revoke_text: 'Its tokens lose them at once. Deployments that run go on running.', revoked: 'The scopes were taken away.',
    suspend_app_text: 'It gets no tokens, those that it has stop working, and its ads aren’t shown, until you reactivate it.', app_suspended: (app: string) => `${app} is suspended.`, app_reactivated: (app: string) => `${app} is active.`,
    decisions: 'Deployments that admins stopped or let go on', no_decisions: 'Nothing was stopped', no_decisions_text: 'Deployments that an admin stops are listed here, by the newest entries of the audit log.', suspend_deployment: 'Stop a deployment', suspend_deployment_text: 'The container ends, and its owner can’t start it again until you allow it. They are told that an admin has stopped it.', reactivate_deployment: 'Let a deployment go on', deployment_id: 'ID of the deployment', deployment_hint: 'The owner sees it on the page of the deployment.', deployment_reactivated: (name: string) => `${name} may run again.`,
    orphans: 'Objects without a deployment', no_orphans: 'Everything on the cluster belongs to a deployment.', orphans_text: 'These deployments have objects on the cluster, but berth doesn’t know them. Nothing is deleted by itself.', words: 'Filtered words', words_label: 'Words', words_hint: 'One on each line. They are replaced by asterisks in the chat, also in older messages, however they are spelt.',
    message: 'Delete a message', message_id: 'ID of the message', message_hint: 'It is gone for everybody, for good.', delete_message: 'Delete the message', message_deleted: 'The message was deleted.', rotate_key: 'New session key', rotate_key_title: 'Sign sessions with a new key?', rotate_key_text: 'New logins are signed with it. Sessions that exist go on working until they end.', key_rotated: 'Sessions are signed with a new key now.',
  },
  fleet: {
    cluster: 'Cluster', state: 'State', states: { simulated: 'Simulated', connected: 'Connected', unreachable: 'Unreachable' }, leader: 'Leader', this_one: 'this process', nobody: 'nobody',
    reconciles: 'Reconciles', waiting: 'Waiting', stalled: 'Waiting for the cluster', longest: 'Longest running', errors: 'Failed since the start', text: 'A reconcile makes the cluster match a deployment. These figures are those of the process that answers.',
    isolation: 'Isolation', isolation_states: { proven: 'Proven', open: 'Paths are open', unproven: 'Not proven', off: 'Not probed', simulated: 'Simulated' }, open_paths: 'Forbidden paths open', blocked_paths: 'Needed paths shut', checked: 'Last probed:', no_result: (why: string) => `The newest probe came to no result: ${why}`,
    statuses: 'Deployments', failed: 'Failed deployments', none_failed: 'No deployment has failed.', orphans: 'Objects without a deployment',
    certificates: 'Certificates', ordered: (hours: string) => `Ordered in ${hours} hours`, refused: 'Refused in 24 hours',
    messages: 'Mail and webhooks', mail: 'Mails waiting', webhooks: 'Deliveries waiting', overdue: 'Longest overdue',
    storage: 'Backup and disk', backup: 'Since the newest backup', database: 'Database', history: 'Usage history', free: 'Free on the disk', of: (all: string) => `of ${all}`,
    seconds: (n: string) => `${n} s`, gigabytes: (n: string) => `${n} GB`, megabytes: (n: string) => `${n} MB`, hours: (n: string) => `${n} h`, days: (n: number) => count(n, 'day', 'days'), again: 'Look again',
  },
  kind: (kind: string) => {
    const names: Record<string, string> = {
      signup_bonus: 'Sign-up bonus', referral_reward: 'Referral', session_reward: 'Time in an app', learning_reward: 'Learning', viewer_reward: 'Viewed ad', mint: 'From the platform', treasury: 'The platform', issuance: 'The platform', tier_change: 'Change of tier',
    };
    const words = kind.replace(/_/g, ' ');
    return names[kind] ?? (words ? words[0]!.toUpperCase() + words.slice(1) : '–');
  },
  reason_word: (reason: string) => reason.replace(/_/g, ' '),
  since: (iso: string) => relative(iso),
  scopes: {
    'profile:read': 'See the username and the tier of its users', 'points:read': 'See how many points its users have', 'points:spend': 'Spend its users’ points, with their consent', 'points:transfer': 'Send its users’ points to others',
    'points:award': 'Nothing any more', 'app:balance:read': 'See its own points', 'deploy:manage': 'Run containers', 'campaigns:manage': 'Run ad campaigns, and trade on the market for ads', 'campaign:write': 'Run ad campaigns',
  },
  unpaid: { title: 'The points for the next 30 days are missing.', fix: 'Give the app points; the deployment then starts by itself.' },
  reasons: {
    image_pull_failed: { title: 'The cluster can’t get the image.', fix: 'Check the name and the tag of the image, and the registry’s user and password.' },
    crash_loop: { title: 'The container ends again and again.', fix: 'Read its last lines below and its log, then run the image with the same variables yourself.' },
    port_not_listening: { title: 'The container runs, but nothing answers on its port.', fix: 'Listen on 0.0.0.0 and on the port of this deployment. Ports below 1024 need root, which containers don’t have.' },
    out_of_memory: { title: 'The container used more memory than its tier has.', fix: 'Use less memory, or take a larger tier.' },
    quota_exceeded: { title: 'The app’s quota on the cluster has no room.', fix: 'Delete a deployment, or ask the platform’s admin.' },
    unschedulable: { title: 'No node of the cluster has room.', fix: 'Ask the platform’s admin.' },
    image_needs_root: { title: 'The image wants to run as root.', fix: 'Use an unprivileged variant of the image; containers run as user 1000.' },
    image_too_large: { title: 'The image is larger than the platform allows.', fix: 'Make it smaller, for example by a build in several stages, and deploy it again.' },
    runtime_class_missing: { title: 'The cluster doesn’t have the runtime of the deployment’s tier.', fix: 'Take another tier, or ask the platform’s admin.' },
    rollout_failed: { title: 'The new container fails, and the old one goes on serving.', fix: 'Fix the new one and change or restart the deployment, or roll back.' },
    cluster_refused: { title: 'The cluster refuses this deployment.', fix: 'The message says why; ask the platform’s admin.' },
    cluster_unreachable: { title: 'The cluster doesn’t answer at the moment.', fix: 'There is nothing to do: what runs goes on running, and berth goes on as soon as the cluster answers.' },
    suspended_by_admin: { title: 'An admin has stopped this deployment.', fix: 'Ask the platform’s admin.' },
    dns_not_pointing: { title: 'It runs, but its custom domain doesn’t lead to it.', fix: 'Set the records that the tab Domain shows.' },
    domain_taken: { title: 'It runs, but its custom domain went to another account.', fix: 'Give the domain up, or take another one.' },
    certificate_failed: { title: 'It runs, but the issuer refused the certificate of its domain.', fix: 'The message below and the tab Domain have the issuer’s words.' },
    certificate_pending: { title: 'It runs, but there is no certificate for its https address yet.', fix: 'There is nothing to do: the message says what is waited for.' },
    cluster_refuses_writes: { title: 'The cluster fails to take this deployment.', fix: 'There is nothing to do: what runs goes on running, and berth tries again. The message names who fails.' },
    changed_by_others: { title: 'Somebody else keeps changing this deployment on the cluster.', fix: 'Ask the platform’s admin; the message names the object.' },
    unknown: { title: 'Something is wrong with this deployment.', fix: 'The message below says more.' },
  },
  domain_reasons: {
    dns_not_pointing: { title: 'A record is missing or wrong', fix: 'Set the records below at the service that runs your DNS. Changes can take a while to be seen.' },
    txt_missing: { title: 'The TXT record is missing or wrong', fix: 'Set it as it is listed below.' },
    dns_unreachable: { title: 'The domain’s name servers don’t answer', fix: 'Check them; berth tries again by itself.' },
    domain_taken: { title: 'Another account has this domain now', fix: 'The DNS didn’t lead here for a week. Give the domain up, or take another one.' },
    certificate_failed: { title: 'The issuer refused the certificate', fix: 'Fix what the issuer’s message says. berth tries again by itself, or at once with “Check now”.' },
    order_budget: { title: 'No more certificates can be ordered for now', fix: 'Wait: berth orders the certificate as soon as the limit allows it.' },
  },
};

// What every language has. A text that is missing from one of them doesn't compile.
export type Messages = typeof en;
