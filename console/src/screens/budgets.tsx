// The budgets of an app or of one deployment: what is spent of them, and the form that sets them.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { password_field } from '../components/password';
import { Read } from '../components/table';
import { Button, Card, Meter, Time } from '../components/ui';
import { useReading } from '../components/use';
import { app_of } from '../data';
import { t } from '../messages';
import { may } from '../roles';

type Budget = Answer<'get', '/api/operator/budgets'>['budgets'][number];
type Change = Body<'put', '/api/operator/budgets'>;

const warned_from = 75; // %

function Row({
  of,
  manages,
  change,
  remove,
}: {
  of: Budget;
  manages: boolean;
  change: () => void;
  remove: () => void;
}) {
  return (
    <li class="stack tight">
      <div class="row">
        <span class={`badge ${of.reached ? 'bad' : of.mark >= warned_from ? 'warn' : 'good'}`}>
          {of.reached ? t.budgets.reached : t.budgets.share(of.spent, of.limit)}
        </span>
        <div class="grow">
          <div>
            {t.budgets.spent(of.spent, of.limit)} {t.budgets.within[of.period]}
          </div>
          <div class="small faint">
            {t.budgets.at_limits[of.at_limit]} · {t.budgets.forecast(of.forecast)}
            {of.forecast_reached_at && !of.reached && (
              <>
                {' '}
                · {t.budgets.reached_at} <Time at={of.forecast_reached_at} />
              </>
            )}
          </div>
        </div>
        {manages && (
          <>
            <Button slim onClick={change}>
              {t.budgets.change}
            </Button>
            <Button slim kinds={['plain']} icon="trash" label={t.budgets.remove} onClick={remove} />
          </>
        )}
      </div>
      <Meter label={t.budgets.meter} value={of.spent} of={of.limit} warn={of.mark >= warned_from} />
    </li>
  );
}

const fields: FieldOf<Change>[] = [
  { name: 'period', label: t.budgets.period, kind: 'choice', choices: Object.entries(t.budgets.periods) },
  { name: 'limit', label: t.budgets.limit, kind: 'number', required: true },
  {
    name: 'at_limit',
    label: t.budgets.at_limit,
    kind: 'choice',
    choices: Object.entries(t.budgets.at_limits),
    hint: t.budgets.at_limit_hint,
  },
  { ...password_field, hint: t.budgets.password_hint },
];

// For the whole app without `deployment`, an id.
export function Budgets({ app, deployment = null }: { app: string; deployment?: string | null }) {
  const list = useReading(() => call('get', '/api/operator/budgets', { app }), [app, deployment]);
  const manages = may(app_of(app), 'billing');
  const [changing, edit] = useState<Budget | null>(); // null: a new one is made
  const [removing, remove] = useState<Budget | null>(null);
  const put = async (body: Change) => {
    const { budget } = await call('put', '/api/operator/budgets', {
      app,
      body: { ...body, ...(deployment ? { deployment_id: deployment } : {}) },
    });
    list.again();
    note(!budget ? t.budgets.removed : budget.reached ? t.budgets.reached_now : t.budgets.set_now);
  };
  return (
    <Card
      title={t.budgets.heading}
      bare
      actions={
        manages && (
          <Button slim icon="plus" onClick={() => edit(null)}>
            {t.budgets.set}
          </Button>
        )
      }>
      <p class="body soft">{deployment ? t.budgets.text : t.budgets.text_of_app}</p>
      <Read of={list}>
        {({ budgets, account }) => (
          <>
            {!deployment && account.points_per_hour > 0 && (
              <p class="body">
                {t.budgets.each_hour(account.points_per_hour)}{' '}
                {account.lasts_until && (
                  <>
                    {t.budgets.lasts_until} <Time at={account.lasts_until} />.
                  </>
                )}
              </p>
            )}
            <ul class="list">
              {budgets
                .filter((one) => one.deployment_id === deployment)
                .map((one) => (
                  <Row
                    key={one.period}
                    of={one}
                    manages={manages}
                    change={() => edit(one)}
                    remove={() => remove(one)}
                  />
                ))}
            </ul>
          </>
        )}
      </Read>
      {changing !== undefined && (
        <FormDialog<Change>
          title={changing ? t.budgets.change : t.budgets.set}
          action={t.app.save}
          fields={changing ? fields.filter((field) => field.name !== 'period') : fields}
          values={changing ?? { period: '30d' }}
          onClose={() => edit(undefined)}
          run={(body) => put({ ...body, period: changing?.period ?? body.period })}
        />
      )}
      {removing && (
        <FormDialog<{ password: string }>
          title={t.budgets.remove}
          action={t.budgets.remove}
          danger
          fields={[{ ...password_field, hint: t.budgets.password_hint }]}
          onClose={() => remove(null)}
          run={({ password }) => put({ period: removing.period, limit: null, password })}>
          <p>{t.budgets.remove_text}</p>
        </FormDialog>
      )}
    </Card>
  );
}
