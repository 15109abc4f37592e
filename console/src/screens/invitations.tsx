// The invitations of the person to apps of others: a note above what they look at first.
import { useState } from 'preact/hooks';
import { type Answer, call } from '../api';
import { note } from '../components/notes';
import { Banner, Button, Time } from '../components/ui';
import { invitations, load, load_invitations } from '../data';
import { t } from '../messages';

type Invitation = Answer<'get', '/api/auth/invitations'>['invitations'][number];

function One({ of }: { of: Invitation }) {
  const [busy, set_busy] = useState(false);
  const path = { id: of.id };
  // Whatever the answer is, the list says what is left: somebody may have withdrawn the invitation.
  async function answer(request: () => Promise<unknown>, told: string) {
    set_busy(true);
    await request().then(
      () => note(told),
      (failure) => note(failure.message),
    );
    set_busy(false);
    await load_invitations();
    await load();
  }
  return (
    <Banner kind="info" title={t.invitations.title(of.app.app_name, of.invited_by)} role="status">
      <p>
        {t.invitations.role(t.roles.names[of.role])} {t.roles.what[of.role]}{' '}
        {of.deployments && t.invitations.limited(of.deployments.length)}
      </p>
      <p class="small faint">
        {t.members.until} <Time at={of.expires_at} />
      </p>
      <div class="row tight">
        <Button
          slim
          kinds={['main-action']}
          busy={busy}
          aria-label={t.invitations.accept_of(of.app.app_name)}
          onClick={() =>
            answer(
              () => call('post', '/api/auth/invitations/{id}/accept', { path }),
              t.invitations.accepted(of.app.app_name),
            )
          }>
          {t.invitations.accept}
        </Button>
        <Button
          slim
          busy={busy}
          aria-label={t.invitations.decline_of(of.app.app_name)}
          onClick={() =>
            answer(() => call('post', '/api/auth/invitations/{id}/decline', { path }), t.invitations.declined)
          }>
          {t.invitations.decline}
        </Button>
      </div>
    </Banner>
  );
}

export function Invitations() {
  return (
    <div class="stack">
      {invitations.value.map((one) => (
        <One key={one.id} of={one} />
      ))}
    </div>
  );
}
