"""What mattered in a study: PED-ANOVA, which asks how the best trials' settings differ from all trials'."""

import warnings

from ..jobs.study import Handle

FEWEST = 10  # complete trials, below which chance alone speaks
BEST_TENTH, BEST_FIVE = 0.1, 5  # the trials that count as best: Optuna's authors advise five at least


def importances(handle: Handle) -> dict[str, float]:
    """Return each setting's share in what makes the best trials, the largest first; nothing while there are few."""
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator
    from optuna.trial import TrialState

    complete = handle.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if len(complete) < FEWEST:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that only a single trial has
        evaluator = PedAnovaImportanceEvaluator(target_quantile=max(BEST_TENTH, BEST_FIVE / len(complete)))
        return optuna.importance.get_param_importances(handle.study, evaluator=evaluator)
